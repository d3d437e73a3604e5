"""Prefix-cache bookkeeping without a tensor: hash chains, alignment, pools."""
