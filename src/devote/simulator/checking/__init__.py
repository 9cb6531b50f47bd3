"""Is a subroutine one? See ``algorithm.check_algorithm``."""
