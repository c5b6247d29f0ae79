// Fills in what sigs.k8s.io/yaml, the server's YAML library, makes of the texts in tests/apiserver/cases/goyaml.json:
//
//	go run . ../../tests/apiserver/cases/goyaml.json
//
// A case gives "yaml" (to read) or "tree" (to write); the program writes "read", "error", "strict" or "written" beside it.
package main

import (
	"bytes"
	"encoding/json"
	"os"

	"sigs.k8s.io/yaml"
)

type testCase struct {
	YAML    *string         `json:"yaml,omitempty"`
	Tree    json.RawMessage `json:"tree,omitempty"`
	Read    json.RawMessage `json:"read,omitempty"`
	Error   string          `json:"error,omitempty"`
	Strict  string          `json:"strict,omitempty"`
	Written string          `json:"written,omitempty"`
}

func answered(c testCase) testCase {
	if c.YAML == nil {
		text, err := yaml.JSONToYAML(c.Tree)
		if err != nil {
			return testCase{Tree: c.Tree, Error: err.Error()}
		}
		return testCase{Tree: c.Tree, Written: string(text)}
	}
	read, err := yaml.YAMLToJSON([]byte(*c.YAML))
	if err != nil {
		return testCase{YAML: c.YAML, Error: err.Error()}
	}
	found := testCase{YAML: c.YAML, Read: read}
	if _, err := yaml.YAMLToJSONStrict([]byte(*c.YAML)); err != nil {
		found.Strict = err.Error()
	}
	return found
}

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var cases []testCase
	if err := json.Unmarshal(data, &cases); err != nil {
		panic(err)
	}
	for i, c := range cases {
		cases[i] = answered(c)
	}
	var out bytes.Buffer
	out.WriteString("[\n")
	for i, c := range cases {
		if i > 0 {
			out.WriteString(",\n")
		}
		line, err := json.Marshal(c)
		if err != nil {
			panic(err)
		}
		out.Write(line)
	}
	out.WriteString("\n]\n")
	if err := os.WriteFile(os.Args[1], out.Bytes(), 0o644); err != nil {
		panic(err)
	}
}
