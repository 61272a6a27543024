module faceoff/systems/shop

go 1.26
