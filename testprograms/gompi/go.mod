module gompi

go 1.25
