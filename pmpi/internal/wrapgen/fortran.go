package wrapgen

func fortranWrappers(all []function) string { return header }
