package parser

import "github.com/weir-stream/weir/internal/sql/ast"

// jsonFunction takes a call of a JSON function with a syntax of its own; it returns nil if it has none.
func (p *parser) jsonFunction(t *token) ast.Expr {
	switch t.kw {
	case "JSON_EXISTS":
		x := &ast.JSONExists{Pos: t.pos}
		x.X, x.Path = p.jsonHead()
		if o := p.jsonOn(); o != nil {
			if o.Behavior < ast.JSONError || o.Behavior > ast.JSONUnknown {
				p.refuse(p.i-1, "JSON_EXISTS has TRUE, FALSE, UNKNOWN or ERROR before ON ERROR")
			}
			p.needAll("ON ERROR")
			x.OnError = o
		}
		p.need(")")
		return x
	case "JSON_VALUE":
		x := &ast.JSONValue{Pos: t.pos}
		x.X, x.Path = p.jsonHead()
		x.Returning = p.returning()
		x.OnEmpty, x.OnError = p.jsonOns(func(b ast.JSONBehavior) bool {
			return b == ast.JSONNull || b == ast.JSONError || b == ast.JSONDefault
		}, "NULL, ERROR or DEFAULT")
		p.need(")")
		return x
	case "JSON_QUERY":
		x := &ast.JSONQuery{Pos: t.pos}
		x.X, x.Path = p.jsonHead()
		x.Returning = p.returning()
		x.Wrapper = p.wrapper()
		x.OnEmpty, x.OnError = p.jsonOns(func(b ast.JSONBehavior) bool {
			return b == ast.JSONNull || b == ast.JSONError || b == ast.JSONEmptyArray || b == ast.JSONEmptyObject
		}, "NULL, ERROR, EMPTY ARRAY or EMPTY OBJECT")
		p.need(")")
		return x
	case "JSON_OBJECT":
		return p.jsonObject(t)
	case "JSON_ARRAY":
		return p.jsonArray(t)
	case "JSON_OBJECTAGG":
		p.skip(2)
		pair := p.jsonPair()
		x := &ast.JSONObjectAgg{Pos: t.pos, Key: pair.Key, Value: pair.Value, Nulls: p.jsonNulls()}
		p.need(")")
		p.noCallTail(t)
		return x
	case "JSON_ARRAYAGG":
		return p.jsonArrayAgg(t)
	}
	return nil
}

// noCallTail refuses FILTER and OVER behind a JSON aggregate.
func (p *parser) noCallTail(t *token) {
	if kw := p.tok().kw; kw == "FILTER" || kw == "OVER" {
		p.refuse(p.i, "%s takes no %s, in Flink neither", t.kw, kw)
	}
}

// jsonHead takes a parenthesis, the value and the path.
func (p *parser) jsonHead() (x, path ast.Expr) {
	p.skip(2)
	x = p.expr()
	p.need(",")
	path = p.expr()
	if p.tok().kw == "PASSING" {
		p.refuse(p.i, "PASSING is not supported: Flink ignores it")
	}
	return x, path
}

// returning takes RETURNING and a type, if it is there.
func (p *parser) returning() *ast.Type {
	if !p.accept("RETURNING") {
		return nil
	}
	return p.typ(false)
}

// jsonOn takes what stands before ON EMPTY or ON ERROR, if there is anything.
func (p *parser) jsonOn() *ast.JSONOn {
	o := &ast.JSONOn{Pos: p.pos()}
	switch {
	case p.accept("NULL"):
		o.Behavior = ast.JSONNull
	case p.accept("ERROR"):
		o.Behavior = ast.JSONError
	case p.accept("TRUE"):
		o.Behavior = ast.JSONTrue
	case p.accept("FALSE"):
		o.Behavior = ast.JSONFalse
	case p.accept("UNKNOWN"):
		o.Behavior = ast.JSONUnknown
	case p.accept("DEFAULT"):
		o.Behavior, o.Default = ast.JSONDefault, p.expr()
	case p.accept("EMPTY"):
		o.Behavior = ast.JSONEmptyObject
		if p.accept("ARRAY") {
			o.Behavior = ast.JSONEmptyArray
		} else {
			p.need("OBJECT")
		}
	default:
		return nil
	}
	return o
}

// jsonOns takes ON EMPTY and ON ERROR clauses.
func (p *parser) jsonOns(allowed func(ast.JSONBehavior) bool, names string) (onEmpty, onError *ast.JSONOn) {
	for {
		at := p.i
		o := p.jsonOn()
		if o == nil {
			return onEmpty, onError
		}
		if !allowed(o.Behavior) {
			p.refuse(at, "before ON EMPTY and ON ERROR stands %s here", names)
		}
		p.need("ON")
		switch {
		case p.accept("EMPTY"):
			onEmpty = o
		case p.accept("ERROR"):
			onError = o
		default:
			p.unexpected()
		}
	}
}

// wrapper takes the wrapper clause of JSON_QUERY, if there is one.
func (p *parser) wrapper() ast.JSONWrapper {
	w := ast.WrapperUnspecified
	switch {
	case p.accept("WITHOUT"):
		w = ast.WithoutWrapper
	case p.accept("WITH"):
		w = ast.WithUnconditionalWrapper
		if p.accept("CONDITIONAL") {
			w = ast.WithConditionalWrapper
		} else {
			p.accept("UNCONDITIONAL")
		}
	default:
		return w
	}
	p.accept("ARRAY")
	p.need("WRAPPER")
	return w
}

// jsonNulls takes NULL ON NULL or ABSENT ON NULL, if it is there.
func (p *parser) jsonNulls() ast.JSONNulls {
	switch {
	case p.acceptAll("NULL ON NULL"):
		return ast.NullOnNull
	case p.acceptAll("ABSENT ON NULL"):
		return ast.AbsentOnNull
	}
	return ast.JSONNullsUnspecified
}

// jsonPair takes [KEY] key VALUE value or key : value.
func (p *parser) jsonPair() *ast.JSONPair {
	pair := &ast.JSONPair{Pos: p.pos()}
	if n := p.peek(1); p.tok().kw == "KEY" && n.kw != "VALUE" && n.kw != ":" && n.kw != "." {
		p.skip(1)
	}
	pair.Key = p.expr()
	if !p.accept(":") {
		p.need("VALUE")
	}
	pair.Value = p.expr()
	return pair
}

// jsonObject takes JSON_OBJECT.
func (p *parser) jsonObject(t *token) ast.Expr {
	p.skip(2)
	x := &ast.JSONObject{Pos: t.pos}
	if x.Nulls = p.jsonNulls(); x.Nulls == 0 && !p.is(")") {
		x.Pairs = commaList(p, p.jsonPair)
		x.Nulls = p.jsonNulls()
	}
	p.need(")")
	return x
}

// jsonArray takes JSON_ARRAY.
func (p *parser) jsonArray(t *token) ast.Expr {
	p.skip(2)
	x := &ast.JSONArray{Pos: t.pos}
	if !p.is(")") {
		x.Items = commaList(p, p.exprOrQuery)
		x.Nulls = p.jsonNulls()
	}
	p.need(")")
	return x
}

// jsonArrayAgg takes JSON_ARRAYAGG, with its order within the parentheses or behind them.
func (p *parser) jsonArrayAgg(t *token) ast.Expr {
	p.skip(2)
	x := &ast.JSONArrayAgg{Pos: t.pos, X: p.expr()}
	if p.accept("ORDER") {
		x.OrderBy = p.orderItems()
	}
	x.Nulls = p.jsonNulls()
	p.need(")")
	if p.tok().kw == "WITHIN" && x.OrderBy == nil {
		p.needAll("WITHIN GROUP ( ORDER")
		x.OrderBy = p.orderItems()
		p.need(")")
	}
	p.noCallTail(t)
	return x
}
