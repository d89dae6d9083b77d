//! The JSON Schema of a scenario, for editors. The schema contains the scenario's keys. The settings are the flags of
//! the commands, with their help texts.
//!
//! The schema is generated from the parser of the command line, so it is always up to date. In the schema, a setting is
//! a text, a number, a boolean, or a list of such values. Only the program checks the values.

use crate::command::run::MACHINE_FLAGS;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use study::scenario::{Hooks, LINK, Order};

/// Commands whose flags are settings. If several commands have the same flag, the help text comes from the first of
/// these commands.
pub const COMMANDS: [&str; 5] = ["get", "put", "mix", "line", "fill"];
/// Flags that are not settings. The study itself selects the runs, their number and directories, and the form of the
/// results.
pub const NO_SETTINGS: [&str; 20] = [
    "hosts",
    "fleet",
    "fleet-creds",
    "fleet-ca",
    "agents-wait",
    "ssh",
    "agent-program",
    "out",
    "json",
    "print",
    "html",
    "repeat",
    "view",
    "quiet",
    "metrics",
    "otlp",
    "help",
    "help-all",
    "dry-run",
    "no-upload",
];

/// Flags of `serve` that the study sets itself, or that print help.
const NO_SERVE_SETTINGS: [&str; 4] = ["listen", "stop-after", "help", "help-all"];

/// Flags of `run` in the key `machines`, in addition to those that name machines.
const OF_MACHINES: [&str; 2] = ["agents", "serve-at"];

/// Returns the schema of a scenario.
pub fn schema(cli: &clap::Command) -> Value {
    let hooks: Map<String, Value> =
        Hooks::KEYS.iter().map(|key| ((*key).to_owned(), json!({"type": "string"}))).collect();
    let orders: Vec<&str> = Order::ALL.iter().map(|(word, _)| *word).collect();
    let mut settings = settings(cli);
    let mut axes = axes(&settings);
    settings.insert(LINK.to_owned(), json!({"anyOf": [{"$ref": "#/$defs/value"}, {"$ref": "#/$defs/link"}]}));
    axes.insert(LINK.to_owned(), link_axis());
    let mut of_target = settings.clone();
    of_target.insert("hooks".to_owned(), json!({"$ref": "#/$defs/hooks"}));
    of_target.insert("serve".to_owned(), serve(cli));
    let about = "Shell command of a server that the study starts and stops. It must listen on the address in PLIMSOLL_LISTEN. In other settings, `served` is this address. If the command is empty, the study starts `serve` instead.";
    of_target.insert("start".to_owned(), json!({"type": "string", "description": about}));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario",
        "description": "A study of plimsoll (docs/scenarios.md).",
        "type": "object",
        "required": ["name", "targets"],
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string", "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$", "description": "Name of the study and of its directory."},
            "notes": {"type": "string", "description": "Notes for readers."},
            "environment": {"$ref": "#/$defs/texts", "description": "The machines and their setup."},
            "vars": {
                "type": "object",
                "description": "Variables, used as ${name}; --set replaces their values.",
                "additionalProperties": {"anyOf": [
                    {"$ref": "#/$defs/value"},
                    {
                        "type": "object",
                        "additionalProperties": false,
                        "properties": {"default": {"$ref": "#/$defs/value"}, "about": {"type": "string"}},
                    },
                ]},
            },
            "machines": machines(cli),
            "targets": {
                "type": "object",
                "minProperties": 1,
                "description": "The systems to measure. All other systems are compared with the first system.",
                "additionalProperties": {"type": "object", "additionalProperties": false, "properties": of_target},
            },
            "settings": {"$ref": "#/$defs/settings", "description": "Settings of all trials."},
            "collectors": {"$ref": "#/$defs/values", "description": "Collectors to poll during each trial, as in the setting collect."},
            "matrix": {"$ref": "#/$defs/matrix"},
            "parts": {
                "type": "object",
                "description": "Parts of the study, each with its own matrix. Cannot be combined with `matrix`.",
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
            "repeats": {"$ref": "#/$defs/value", "description": "Number of runs of each cell [1]."},
            "order": {"enum": orders, "description": "Order of the trials [interleaved]."},
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
                "description": "Commands before, during and after each trial.",
                "additionalProperties": false,
                "properties": hooks,
            },
            "matrix": {
                "type": "object",
                "description": "Settings with several values: every combination is a cell.",
                "additionalProperties": false,
                "properties": axes,
            },
            "settings": {"type": "object", "additionalProperties": false, "properties": settings},
            "link": {
                "type": "object",
                "description": "Emulated link between client and target (docs/link.md).",
                "additionalProperties": false,
                "properties": {
                    "down": {"$ref": "#/$defs/direction"},
                    "up": {"$ref": "#/$defs/direction"},
                    "congestion": {"type": "string", "description": "Congestion control of TCP at both ends."},
                },
            },
            "direction": {"anyOf": [
                {"$ref": "#/$defs/value"},
                {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                        "rate": {"type": "string"},
                        "delay": {"type": "string"},
                        "jitter": {"type": "string"},
                        "loss": {"type": "string"},
                        "reorder": {"type": "string"},
                        "queue": {"type": "string"},
                    },
                },
            ]},
        },
    })
}

/// Returns the schema of the axis of links, whose values have names.
fn link_axis() -> Value {
    json!({
        "description": "Emulated links between client and target, by name (docs/link.md).",
        "anyOf": [
            {"$ref": "#/$defs/values"},
            {
                "type": "object",
                "additionalProperties": {"anyOf": [{"$ref": "#/$defs/value"}, {"$ref": "#/$defs/link"}]},
            },
        ],
    })
}

/// Returns all settings: the long names of flags, and the settings that have no flag.
fn settings(cli: &clap::Command) -> Map<String, Value> {
    let mut settings = BTreeMap::new();
    let mut add = |name: &str, about: String| {
        settings.entry(name.to_owned()).or_insert_with(|| json!({"$ref": "#/$defs/values", "description": about}));
    };
    add("command", "Command that makes the load: get [default], put, mix, line or fill.".to_owned());
    add("url", "URL to load.".to_owned());
    add(LINK, "Emulated link between client and target, e.g. 1Gbit/s,40ms, or none (docs/link.md).".to_owned());
    add(study::scenario::CACHE_STATE, "State of a cache, for hooks and reports.".to_owned());
    for command in COMMANDS.iter().filter_map(|name| cli.find_subcommand(name)) {
        for flag in command.get_arguments() {
            if let Some(name) = flag.get_long().filter(|name| !NO_SETTINGS.contains(name)) {
                add(name, flag.get_help().map(ToString::to_string).unwrap_or_default());
            }
        }
    }
    settings.into_iter().collect()
}

/// Returns the flags of `serve`, for a server that the study starts.
fn serve(cli: &clap::Command) -> Value {
    let flags = cli.find_subcommand("serve").into_iter().flat_map(clap::Command::get_arguments);
    let flags = flags.filter(|flag| !flag.is_hide_set()).filter_map(|flag| Some((flag.get_long()?, flag.get_help())));
    let about = |help: Option<&clap::builder::StyledStr>| help.map(ToString::to_string).unwrap_or_default();
    let properties: Map<String, Value> = flags
        .filter(|(name, _)| !NO_SERVE_SETTINGS.contains(name))
        .map(|(name, help)| (name.to_owned(), json!({"$ref": "#/$defs/values", "description": about(help)})))
        .collect();
    json!({
        "type": "object",
        "description": "Flags of `plimsoll serve` for a server that the study starts and stops. In other settings, `served` is the address of this server.",
        "additionalProperties": false,
        "properties": properties,
    })
}

/// Returns the flags that name the machines of a study.
fn machines(cli: &clap::Command) -> Value {
    let flags = cli.find_subcommand("run").into_iter().flat_map(clap::Command::get_arguments);
    let flags = flags.filter_map(|flag| Some((flag.get_long()?, flag.get_help())));
    let properties: Map<String, Value> = flags
        .filter(|(name, _)| MACHINE_FLAGS.contains(name) || OF_MACHINES.contains(name))
        .map(|(name, help)| {
            let about = help.map(ToString::to_string).unwrap_or_default();
            (name.to_owned(), json!({"$ref": "#/$defs/values", "description": about}))
        })
        .collect();
    json!({
        "type": "object",
        "description": "Hosts or agents that make the loads (docs/fleet.md). Without this key, this host makes them.",
        "additionalProperties": false,
        "properties": properties,
    })
}

/// Returns the settings as axes. The values of an axis may have names.
fn axes(settings: &Map<String, Value>) -> Map<String, Value> {
    let axis = |(name, setting): (&String, &Value)| {
        (name.clone(), json!({"$ref": "#/$defs/axis", "description": setting["description"]}))
    };
    settings.iter().map(axis).collect()
}
