module faceoff/systems/relay-go

go 1.26
