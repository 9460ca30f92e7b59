//! The vocabulary over HTTP: a list of types, and a schema for each.

use crate::service::TestService;

#[test]
fn every_type_is_listed_and_has_its_schema() {
    let service = TestService::start();
    let list = service.get("/v1/schemas").expect(200).json();
    let listed = list["schemas"].as_array().unwrap();
    assert!(listed.len() > 50, "{}", listed.len());
    for one in listed {
        let kind = one["type"].as_str().unwrap();
        let answer = service.get(&format!("/v1/schemas/{kind}")).expect(200);
        assert_eq!(answer.header("content-type"), Some("application/schema+json"));
        let schema = answer.json();
        assert_eq!((&schema["$id"], &schema["title"]), (&one["schema"], &one["type"]));
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["description"], one["description"]);
        // A type that is no more than a document refers to that.
        assert!(schema["type"] == "object" || schema["$ref"].is_string(), "{schema}");
    }
    let annotation = listed.iter().find(|one| one["type"] == "annotation.added").unwrap();
    assert_eq!((&annotation["version"], &annotation["writtenBy"]), (&1.into(), &"anyone".into()));
}

#[test]
fn a_type_that_is_not_there_and_a_question_too_many_are_refused() {
    let service = TestService::start();
    for target in ["/v1/schemas/x.noted", "/v1/schemas/no.such", "/v1/schemas/", "/v1/schemas/a%2fb"] {
        service.get(target).expect_problem(404, "no-such-resource");
    }
    service.get("/v1/schemas?limit=1").expect_problem(400, "bad-query");
    service.get("/v1/schemas/run.step?version=1").expect_problem(400, "bad-query");
}
