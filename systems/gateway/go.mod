module faceoff/systems/gateway

go 1.26
