module faceoff/gateway

go 1.26

require (
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.2
	go.yaml.in/yaml/v3 v3.0.6
	golang.org/x/net v0.51.0
	golang.org/x/text v0.34.0
)
