//! Reading of what GitHub sends without ever failing on it: what cannot be read is as good as missing.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

/// A field that may be missing, null or of an odd type.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    from: D,
) -> Result<T, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).unwrap_or_default())
}

/// A list, or the API's envelope `{"total_count": 2, "check_runs": [ … ]}` around one. Entries that are no objects are left out.
pub(super) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Vec<T>, D::Error> {
    let entries = entries(Value::deserialize(from)?);
    let objects = entries.into_iter().filter(Value::is_object);
    Ok(objects.filter_map(|entry| serde_json::from_value(entry).ok()).collect())
}

/// Required names: strings, or the objects that hold them in the API (`{"context": …}`).
pub(super) fn names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let entries = entries(Value::deserialize(from)?);
    let name = |entry: Value| match entry {
        Value::String(name) => Some(name),
        Value::Object(fields) => fields.get("context").or(fields.get("name"))?.as_str().map(str::to_owned),
        _ => None,
    };
    Ok(entries.into_iter().filter_map(name).filter(|name| !name.is_empty()).collect())
}

/// A number of things, or the list of them.
pub(super) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<usize>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Array(things) => Some(things.len()),
        Value::Number(number) => number.as_u64().and_then(|number| usize::try_from(number).ok()),
        _ => None,
    })
}

fn entries(value: Value) -> Vec<Value> {
    match value {
        Value::Array(entries) => entries,
        Value::Object(fields) => {
            fields
                .into_iter()
                .find_map(|(_, field)| if let Value::Array(list) = field { Some(list) } else { None })
        }
        .unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// A point in time: RFC 3339 as the API writes it, or seconds since 1970 as some webhooks do.
pub(super) mod moment {
    use crate::domain::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::Value;

    pub(in super::super) fn serialize<S: Serializer>(
        at: &Option<Timestamp>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => out.serialize_str(&at.rfc3339()),
            None => out.serialize_none(),
        }
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        Ok(match Value::deserialize(from)? {
            Value::String(text) => {
                chrono::DateTime::parse_from_rfc3339(&text).ok().map(|at| Timestamp(at.timestamp_millis()))
            }
            Value::Number(seconds) => seconds.as_i64().map(|seconds| Timestamp(seconds.saturating_mul(1000))),
            _ => None,
        })
    }
}
