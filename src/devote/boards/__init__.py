"""Where messages are posted and read.

``board`` says what every board does. A new board is a file here with a subclass of ``Board``, and
a line in ``tests/contracts/test_board_contract.py``, which runs every check on it.
"""
