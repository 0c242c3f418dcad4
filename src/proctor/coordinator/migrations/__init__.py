"""Schema changes of the store, in order.

`pre/` holds what must be in place before new code runs (tables, columns, constraints that old code also
satisfies); `post/` what may only happen once no old code runs (drops, stricter constraints). Both are one
chain of revisions, `pre_NNNN_*` and `post_NNNN_*`. A run file has one owner, so opening it applies both; a
shared database applies `pre` before and `post` after its coordinators are replaced.

Revisions are frozen once released: they repeat the schema of their day instead of importing today's.
"""
