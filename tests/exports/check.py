"""Reads exports back with programs that are not ours, and prints what they say as JSON.

usage: check.py parquet FILE | check.py ocsf FILE
"""

import json
import sys


def parquet(path):
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    rows = table.to_pylist()
    for row in rows:
        row["recorded_at"] = row["recorded_at"].isoformat()
    kinds = {field.name: str(field.type) for field in table.schema}
    groups = pyarrow.parquet.ParquetFile(path).num_row_groups
    print(json.dumps({"rows": rows, "types": kinds, "groups": groups}))


def ocsf(path):
    import jsonschema
    from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema

    validators, faults, classes = {}, [], {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            event = json.loads(line)
            metadata = event["metadata"]
            profiles = metadata.get("profiles", [])
            key = (metadata["version"], event["class_uid"], tuple(profiles))
            if key not in validators:
                schema = OcsfJsonSchemaEmbedded(get_ocsf_schema(version=metadata["version"]))
                name = schema.lookup_class_name_from_uid(event["class_uid"])
                found = schema.get_class_schema(class_name=name, profiles=profiles)
                validators[key] = (name, jsonschema.Draft202012Validator(found))
            name, validator = validators[key]
            classes[name] = classes.get(name, 0) + 1
            faults += [f"line {number}: {fault.json_path}: {fault.message}" for fault in validator.iter_errors(event)]
    print(json.dumps({"classes": classes, "faults": faults}))


if __name__ == "__main__":
    {"parquet": parquet, "ocsf": ocsf}[sys.argv[1]](sys.argv[2])
