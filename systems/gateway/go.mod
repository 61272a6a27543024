module faceoff/systems/gateway

go 1.26

require (
	go.yaml.in/yaml/v3 v3.0.6
	golang.org/x/net v0.51.0
)
