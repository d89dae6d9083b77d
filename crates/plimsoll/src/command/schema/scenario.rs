//! The JSON Schema of a scenario, for editors: its keys, and the flags of the commands as settings, with what their help says.
//!
//! It is made from the command line itself, so that it can not fall behind. What a value means is checked by the program alone:
//! here a setting is a text, a number, a truth value, or a list of them.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use study::Hooks;
use study::scenario::Order;

/// Commands whose flags are settings; a flag that several have is explained by the first.
const COMMANDS: [&str; 4] = ["get", "put", "mix", "line"];
/// Flags that a study has no use for: it says where its runs are, how often each is made and how they are shown.
pub const NO_SETTINGS: [&str; 8] = ["out", "json", "print", "html", "repeat", "quiet", "help", "help-all"];

/// The schema of a scenario, as the command line has its flags.
pub fn schema(cli: &clap::Command) -> Value {
    let hooks: Map<String, Value> =
        Hooks::KEYS.iter().map(|key| ((*key).to_owned(), json!({"type": "string"}))).collect();
    let orders: Vec<&str> = Order::ALL.iter().map(|(word, _)| *word).collect();
    let settings = settings(cli);
    let mut of_target = settings.clone();
    of_target.insert("hooks".to_owned(), json!({"$ref": "#/$defs/hooks"}));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario",
        "description": "What a study of plimsoll asks (docs/scenarios.md).",
        "type": "object",
        "required": ["name", "targets"],
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string", "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$", "description": "Names its directory."},
            "notes": {"type": "string", "description": "What people should know about it."},
            "environment": {"$ref": "#/$defs/texts", "description": "What the machines are."},
            "vars": {"$ref": "#/$defs/texts", "description": "What ${name} stands for, unless --set says otherwise."},
            "targets": {
                "type": "object",
                "minProperties": 1,
                "description": "Who is measured; the others stand beside the first.",
                "additionalProperties": {"type": "object", "additionalProperties": false, "properties": of_target},
            },
            "settings": {"$ref": "#/$defs/settings", "description": "Settings of all trials."},
            "matrix": {"$ref": "#/$defs/matrix"},
            "parts": {
                "type": "object",
                "description": "Parts with a matrix each, instead of one matrix.",
                "additionalProperties": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                        "settings": {"$ref": "#/$defs/settings"},
                        "matrix": {"$ref": "#/$defs/matrix"},
                        "hooks": {"$ref": "#/$defs/hooks"},
                    },
                },
            },
            "repeats": {"$ref": "#/$defs/value", "description": "How often each cell is measured [1]."},
            "order": {"enum": orders, "description": "In which order [interleaved]."},
            "seed": {"$ref": "#/$defs/value", "description": "Seed of random orders [1]."},
            "hooks": {"$ref": "#/$defs/hooks"},
        },
        "$defs": {
            "value": {"type": ["string", "number", "boolean"]},
            "axis": {"anyOf": [{"$ref": "#/$defs/values"}, {"$ref": "#/$defs/texts"}]},
            "values": {"anyOf": [{"$ref": "#/$defs/value"}, {"type": "array", "items": {"$ref": "#/$defs/value"}}]},
            "texts": {"type": "object", "additionalProperties": {"$ref": "#/$defs/value"}},
            "hooks": {
                "type": "object",
                "description": "Commands around each trial.",
                "additionalProperties": false,
                "properties": hooks,
            },
            "matrix": {
                "type": "object",
                "description": "Settings that take several values: every combination is a cell.",
                "additionalProperties": false,
                "properties": axes(&settings),
            },
            "settings": {"type": "object", "additionalProperties": false, "properties": settings},
        },
    })
}

/// All settings: the flags by their long names, and those that are none.
fn settings(cli: &clap::Command) -> Map<String, Value> {
    let mut settings = BTreeMap::new();
    let mut add = |name: &str, about: String| {
        settings.entry(name.to_owned()).or_insert_with(|| json!({"$ref": "#/$defs/values", "description": about}));
    };
    add("command", "What measures it: get [unless said otherwise], put or mix.".to_owned());
    add("url", "What is loaded.".to_owned());
    add(study::hooks::STATE, "The state of a cache, for hooks and reports.".to_owned());
    for command in COMMANDS.iter().filter_map(|name| cli.find_subcommand(name)) {
        for flag in command.get_arguments() {
            if let Some(name) = flag.get_long().filter(|name| !NO_SETTINGS.contains(name)) {
                add(name, flag.get_help().map(ToString::to_string).unwrap_or_default());
            }
        }
    }
    settings.into_iter().collect()
}

/// The same settings as axes, whose values can have names.
fn axes(settings: &Map<String, Value>) -> Map<String, Value> {
    let axis = |(name, setting): (&String, &Value)| {
        (name.clone(), json!({"$ref": "#/$defs/axis", "description": setting["description"]}))
    };
    settings.iter().map(axis).collect()
}
