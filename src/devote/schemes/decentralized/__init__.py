"""Decentralized Elimination: players vote arms out, and a quorum eliminates an arm for all.

Paper: Algorithm 2.
"""
