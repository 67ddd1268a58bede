"""CRFsuite: its model files, its training in double precision, and conversion of models.

The interfaces of python-crfsuite and sklearn-crfsuite are in :mod:`dualstruct.compat`, under the
names that programs import and pickles hold. Nothing else but the command imports this room.
"""
