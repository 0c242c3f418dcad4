"""Every statement the store executes, named, one module per table group.

All are SQLAlchemy Core expressions with bound parameters that begin with `the_` (a name no column has), built
once. A transition is one statement: its WHERE holds the state it leaves and the identity it needs, and
whether it returned a row says whether it happened.
"""
