use serde_json::json;

use super::*;
use crate::tools::arguments::tests::document;

fn refused(changes: Value) -> ToolError {
    CompiledTool::new(&document(changes)).unwrap_err()
}

fn closed() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "paths": {"type": "array", "items": {"type": "string"}},
            "count": {"type": "integer"},
            "inner": {"$ref": "#/$defs/inner"},
            "a/b~c": {},
        },
        "additionalProperties": false,
        "$defs": {"inner": {"properties": {"url": {}}, "additionalProperties": false}},
    })
}

#[test]
fn pointers_have_to_lead_to_something_that_a_call_can_have() {
    for pointer in ["/path", "/paths", "/paths/0", "/inner/url", "/a~1b~0c", "/a~1b~0c/anything"] {
        let document = document(json!({"input_schema": closed(), "binding_fields": [pointer]}));
        assert!(CompiledTool::new(&document).is_ok(), "{pointer}");
    }
    for pointer in ["/pat", "/path/x", "/inner/x", "/count/0", "/paths/x", "/inner/url2"] {
        let error = refused(json!({"input_schema": closed(), "binding_fields": [pointer]}));
        assert!(matches!(error, ToolError::LeadsNowhere { .. }), "{pointer}: {error}");
    }
    for pointer in ["path", "#/path", "/a~b", "/~2"] {
        let error = refused(json!({"input_schema": closed(), "binding_fields": [pointer]}));
        assert!(matches!(error, ToolError::Pointer { .. }), "{pointer}: {error}");
    }
    // A number is no path, and a list no context.
    for pointer in ["/count", "/paths"] {
        let from = json!({"pointer": pointer, "normaliser": "path"});
        let error = refused(json!({"input_schema": closed(), "context_from": from}));
        assert!(matches!(error, ToolError::LeadsNowhere { which: "context_from", .. }), "{error}");
    }
    let twice = refused(json!({"binding_fields": ["/a", "/a"]}));
    assert!(matches!(twice, ToolError::Twice { .. }));
}

#[test]
fn schemas_and_globs_that_cannot_be_compiled_are_refused_in_one_line() {
    for schema in [
        json!({"type": "strin"}),
        json!({"pattern": "("}),
        json!({"pattern": "(?=look)ahead"}),
        json!({"pattern": "(a)\\1"}),
        json!({"pattern": "((a{500}){500}){500}"}),
        json!({"required": "path"}),
        json!({"$ref": "https://example.com/schema"}),
        json!({"items": {"$ref": "#"}}),
    ] {
        for member in ["input_schema", "output_schema"] {
            let error = refused(json!({member: schema}));
            let text = error.to_string();
            assert!(text.starts_with(member) && !text.contains('\n') && text.len() < 400, "{text}");
        }
    }
    let rule = |glob: &str| json!({"destinations": [{"pointer": "/a", "kind": "path", "globs": [glob]}]});
    assert!(matches!(refused(rule("[a")), ToolError::Glob { .. }));
    assert!(matches!(refused(rule("{a")), ToolError::Glob { .. }));
}

/// The example of RFC 8785, section 3.2.3 and its expected bytes; and numbers of its appendix B.
#[test]
fn canonical_json_is_that_of_the_standard() {
    let input = r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
        "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#;
    let expected = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
    let value: Value = serde_json::from_str(input).unwrap();
    assert_eq!(serde_json_canonicalizer::to_string(&value).unwrap(), expected);
    // Members in the order of their UTF-16 units: section 3.2.3.
    let sorted: Value = serde_json::from_str(
        r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#,
    )
    .unwrap();
    let text = serde_json_canonicalizer::to_string(&sorted).unwrap();
    let at = |name: &str| text.find(name).unwrap();
    let order = ["Carriage", "One", "Control", "Latin", "Euro", "Emoji", "Hebrew"].map(at);
    assert!(order.is_sorted(), "{text}");
    for (bits, written) in [
        (0x0000_0000_0000_0000_u64, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
    ] {
        let text = serde_json_canonicalizer::to_string(&f64::from_bits(bits)).unwrap();
        assert_eq!(text, written);
        let read: f64 = serde_json::from_str(written).unwrap();
        assert_eq!(serde_json_canonicalizer::to_string(&read).unwrap(), written);
    }
}

#[test]
fn a_digest_is_one_that_any_program_can_recompute() {
    let sha256 = |text: &str| hex(&Sha256::digest(text));
    let all = CompiledTool::new(&document(json!({}))).unwrap();
    let args: Value = serde_json::from_str(r#"{"b": 1.0, "a": "x"}"#).unwrap();
    assert_eq!(all.action_digest(&args).unwrap().as_str(), sha256(r#"{"a":"x","b":1}"#));
    let bound = CompiledTool::new(&document(json!({"binding_fields": ["/b", "/none"]}))).unwrap();
    assert_eq!(bound.action_digest(&args).unwrap().as_str(), sha256(r#"{"/b":1}"#));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
