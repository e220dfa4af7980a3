// The module has no home yet: this path is that of all its imports until it has.
module ddblockd.example/ddblock

go 1.19
