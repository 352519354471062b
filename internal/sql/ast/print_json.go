package ast

// json writes the JSON functions.
func (p *printer) json(e Expr) {
	switch e := e.(type) {
	case *JSONExists:
		p.jsonHead("JSON_EXISTS", e.X, e.Path)
		p.jsonOn(e.OnError, " ON ERROR")
	case *JSONValue:
		p.jsonHead("JSON_VALUE", e.X, e.Path)
		p.returning(e.Returning)
		p.jsonOn(e.OnEmpty, " ON EMPTY")
		p.jsonOn(e.OnError, " ON ERROR")
	case *JSONQuery:
		p.jsonHead("JSON_QUERY", e.X, e.Path)
		p.returning(e.Returning)
		p.s([...]string{"", " WITHOUT ARRAY WRAPPER", " WITH CONDITIONAL ARRAY WRAPPER",
			" WITH UNCONDITIONAL ARRAY WRAPPER"}[e.Wrapper])
		p.jsonOn(e.OnEmpty, " ON EMPTY")
		p.jsonOn(e.OnError, " ON ERROR")
	case *JSONObject:
		p.s("JSON_OBJECT(")
		list(p, e.Pairs)
		p.jsonNulls(e.Nulls, len(e.Pairs) > 0)
	case *JSONArray:
		p.s("JSON_ARRAY(")
		list(p, e.Items)
		p.jsonNulls(e.Nulls, len(e.Items) > 0)
	case *JSONObjectAgg:
		p.s("JSON_OBJECTAGG(KEY ")
		p.expr(e.Key, 0)
		p.s(" VALUE ")
		p.expr(e.Value, 0)
		p.jsonNulls(e.Nulls, true)
	case *JSONArrayAgg:
		p.s("JSON_ARRAYAGG(")
		p.expr(e.X, 0)
		p.orderBy(e.OrderBy, " ")
		p.jsonNulls(e.Nulls, true)
	}
	p.s(")")
}

// jsonHead writes a function's name with value and path.
func (p *printer) jsonHead(name string, x, path Expr) {
	p.s(name, "(")
	p.expr(x, 0)
	p.s(", ")
	p.expr(path, 0)
}

// returning writes RETURNING if there is a type.
func (p *printer) returning(t *Type) {
	if t != nil {
		p.s(" RETURNING ")
		p.typ(t)
	}
}

// jsonOn writes one ON EMPTY or ON ERROR.
func (p *printer) jsonOn(o *JSONOn, when string) {
	if o == nil {
		return
	}
	p.s([...]string{"", " NULL", " ERROR", " TRUE", " FALSE", " UNKNOWN", " EMPTY ARRAY", " EMPTY OBJECT", " DEFAULT "}[o.Behavior])
	if o.Default != nil {
		p.expr(o.Default, 0)
	}
	p.s(when)
}

// jsonNulls writes NULL ON NULL or ABSENT ON NULL.
func (p *printer) jsonNulls(n JSONNulls, space bool) {
	p.when(space && n != JSONNullsUnspecified, " ")
	p.s([...]string{"", "NULL ON NULL", "ABSENT ON NULL"}[n])
}
