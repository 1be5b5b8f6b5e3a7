"""Readers of weights that other programs wrote: `table.py` lists them, one file per format."""
