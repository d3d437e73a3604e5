"""The data under rules/ as typed tables: the only code that reads it.

Import `Catalog` from `promptlint.catalog.catalog` and the row types from `promptlint.catalog.model`.
"""
