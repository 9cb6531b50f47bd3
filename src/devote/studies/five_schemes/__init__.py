"""The five schemes on one problem: what each takes, and what is proved of it.

``python -m devote.studies.five_schemes`` measures it and draws the picture of the README. With a
folder it reads and writes there; with ``--draw`` it draws again what was measured.
"""
