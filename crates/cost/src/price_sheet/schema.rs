//! The JSON Schema of a price sheet, for editors. The schema does not check every value; the parser does.

use serde_json::{Value, json};

/// Returns the schema of a price sheet.
#[must_use]
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Price sheet",
        "description": "Prices of a storage provider (docs/cost.md). A missing price is unknown; a price of 0 is free.",
        "type": "object",
        "required": ["name", "currency", "date"],
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 80, "description": "Name in reports."},
            "currency": {"$ref": "#/$defs/currency", "description": "Currency of all prices: USD, EUR, SC for siacoins."},
            "date": {"$ref": "#/$defs/date", "description": "Day on which the prices were valid."},
            "source": {"type": "string", "description": "Source of the prices."},
            "notes": {"type": "string", "description": "Notes for readers of a bill."},
            "redundancy": {
                "$ref": "#/$defs/number",
                "description": "Stored bytes per byte of a file, for estimates with prices per absolute byte.",
            },
            "storage": {
                "type": "object",
                "description": "Storage, per unit of data and month of 730 hours.",
                "required": ["price", "per"],
                "additionalProperties": false,
                "properties": {
                    "price": {"$ref": "#/$defs/number"},
                    "per": {"$ref": "#/$defs/unit"},
                    "bytes": {"enum": ["file", "absolute"], "description": "Bytes that the price is charged for [default: file]."},
                    "minimum": {"$ref": "#/$defs/time", "description": "Shortest time that is charged."},
                },
            },
            "upload": transfer("Data into the system.", &["transferred", "file", "absolute"]),
            "download": transfer("Data out of the system.", &["transferred"]),
            "requests": {
                "type": "object",
                "description": "Requests, per 1,000.",
                "additionalProperties": false,
                "properties": {
                    "put": {
                        "$ref": "#/$defs/number",
                        "description": "Uploads, parts, and the requests that begin and complete multipart uploads.",
                    },
                    "get": {
                        "$ref": "#/$defs/number",
                        "description": "Downloads, and requests for the metadata of one object.",
                    },
                    "list": {"$ref": "#/$defs/number", "description": "Lists."},
                    "delete": {"$ref": "#/$defs/number", "description": "Deletions."},
                },
            },
            "fees": {
                "type": "object",
                "description": "Fees of contracts.",
                "additionalProperties": false,
                "properties": {
                    "fixed": {"$ref": "#/$defs/number", "description": "Charged once per term [0]."},
                    "per_contract": {"$ref": "#/$defs/number", "description": "Charged for each contract of each term [0]."},
                    "contracts": {"type": "integer", "minimum": 0, "description": "Number of contracts, for estimates."},
                },
            },
            "term": {
                "$ref": "#/$defs/time",
                "description": "Length of a contract. Storage is charged for whole contracts, one after the other.",
            },
            "rates": {
                "type": "array",
                "description": "Rates between currencies.",
                "items": {
                    "type": "object",
                    "required": ["from", "to", "value", "date"],
                    "additionalProperties": false,
                    "properties": {
                        "from": {"$ref": "#/$defs/currency"},
                        "to": {"$ref": "#/$defs/currency"},
                        "value": {"$ref": "#/$defs/number", "description": "Price of one unit of `from` in `to`."},
                        "date": {"$ref": "#/$defs/date", "description": "Day of the rate."},
                    },
                },
            },
        },
        "$defs": {
            "number": {
                "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": "^[0-9][0-9_]*(\\.[0-9_]+)?$"}],
            },
            "currency": {"type": "string", "pattern": "^[A-Z]{2,8}$"},
            "date": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
            "unit": {"enum": ["GB", "GiB", "TB", "TiB"], "description": "10^9, 2^30, 10^12 or 2^40 bytes."},
            "time": {
                "type": "string",
                "pattern": "^[0-9][0-9_]*(\\.[0-9_]+)? *(months?|weeks?|w|days?|d|hours?|h)$",
                "description": "For example 2.77 months, 12 weeks, 30 days or 36 hours.",
            },
        },
    })
}

fn transfer(description: &str, bases: &[&str]) -> Value {
    json!({
        "type": "object",
        "description": description,
        "required": ["price", "per"],
        "additionalProperties": false,
        "properties": {
            "price": {"$ref": "#/$defs/number"},
            "per": {"$ref": "#/$defs/unit"},
            "bytes": {"enum": bases, "description": "Bytes that the price is charged for [default: transferred]."},
        },
    })
}
