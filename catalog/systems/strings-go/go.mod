module faceoff/systems/strings-go

go 1.26
