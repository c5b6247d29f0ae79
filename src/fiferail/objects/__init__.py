"""What a Kubernetes object is, without a server: trees, paths, schemas, patches, apply, managedFields, conditions. PURE.

The chain, each module standing on those before it:

    tree        JSON values that are shared and never changed in place; path copies; strict equality; diffs
    gojson      JSON text as the API server reads and writes it
    paths       where a value sits: field, keyed entry, set member, index; in the spellings Kubernetes uses
    fieldset    sets of paths, and FieldsV1 in both directions
    schema/     structural schemas: parse, prune, default, validate, CEL
    jsonpatch, mergepatch, strategic    patches, applied to values; patchtext: the text that they leave behind
    apply/      structured merge: compare, merge, conflicts, managedFields
    conditions  the one list that every controller writes

No socket, clock, randomness, asyncio or logging: times and ids are arguments.
"""
