package parser

import (
	"strings"

	"github.com/weir-stream/weir/internal/sql/ast"
)

// statementWords are the words that statements begin with.
var statementWords = [...]string{
	"SELECT", "INSERT", "CREATE", "DROP", "ALTER", "WITH", "VALUES", "EXPLAIN", "SHOW", "DESCRIBE", "USE", "SET", "RESET",
	"EXECUTE", "BEGIN", "END", "REPLACE", "TABLE", "DELETE", "UPDATE", "TRUNCATE", "ANALYZE", "CALL", "COMPILE", "LOAD",
	"UNLOAD", "ADD", "REMOVE", "STOP", "DESC", "(",
}

// statement takes one statement.
func (p *parser) statement() ast.Statement {
	t := p.tok()
	if s := p.jobStatement(t); s != nil {
		return s
	}
	switch t.kw {
	case "CREATE", "REPLACE":
		return p.create()
	case "DROP":
		return p.drop()
	case "ALTER":
		return p.alter()
	case "SHOW":
		return p.show()
	case "DESCRIBE", "DESC":
		return p.describe()
	case "USE":
		return p.use()
	case "SET":
		return p.set()
	case "RESET":
		p.skip(1)
		s := &ast.Reset{Pos: t.pos}
		if p.tok().kind != tEOF {
			s.Key = p.settingKey()
		}
		return s
	case "LOAD", "UNLOAD", "ADD", "REMOVE", "STOP", "TRUNCATE", "UPDATE", "DELETE", "ANALYZE", "CALL", "COMPILE":
		return p.rareStatement(t)
	case "QUIT", "EXIT", "CLEAR", "HELP":
		if p.peek(1).kind == tEOF {
			p.skip(1)
			return &ast.ClientCommand{Pos: t.pos, Word: t.kw}
		}
	case "UPSERT", "MERGE":
		p.refuse(p.i, "%s is not supported; write INSERT INTO: into a table with a primary key it updates", t.kw)
		return &ast.EndStatementSet{}
	}
	for _, w := range statementWords {
		p.expect(w)
	}
	e := &Error{Found: found(t), Expected: statementWords[:8]}
	e.Suggestion, e.Instead = p.suggestion(p.tried)
	if t.kind == tError {
		e = &Error{Found: found(t), Reason: t.text}
	}
	p.fail(p.i, e)
	return &ast.EndStatementSet{}
}

// jobStatement takes a statement that reads or writes rows, or explains one; it returns nil if there is none.
func (p *parser) jobStatement(t *token) ast.Statement {
	switch t.kw {
	case "SELECT", "VALUES", "WITH", "TABLE", "(":
		return &ast.QueryStatement{Pos: t.pos, Query: p.query()}
	case "INSERT":
		return p.insert()
	case "EXPLAIN":
		return p.explain()
	case "EXECUTE":
		return p.execute()
	case "BEGIN":
		p.needAll("BEGIN STATEMENT SET")
		return &ast.BeginStatementSet{Pos: t.pos}
	case "END":
		p.skip(1)
		return &ast.EndStatementSet{Pos: t.pos}
	}
	return nil
}

// insert takes INSERT.
func (p *parser) insert() *ast.Insert {
	s := &ast.Insert{Pos: p.pos()}
	p.need("INSERT")
	if p.accept("OVERWRITE") {
		s.Overwrite = true
	} else {
		p.need("INTO")
	}
	if p.tok().kw == "TABLE" {
		p.refuse(p.i, "the table's name stands directly behind INTO, without TABLE")
	}
	s.Table = p.objectName()
	s.Hints = p.hints()
	if p.accept("PARTITION") {
		s.Partition = p.partition(true)
	}
	if p.tok().kw == "(" && nameToken(p.peek(1)) {
		s.Columns = parenList(p, p.objectName)
	}
	if t := p.tok(); !p.startsQuery() && t.kw != "(" {
		p.expect("(")
		p.expect(aQuery)
		for _, w := range [...]string{"SELECT", "VALUES", "WITH", "PARTITION"} {
			p.expect(w)
		}
		p.unexpected()
	}
	s.Query = p.query()
	if p.acceptAll("ON CONFLICT") {
		p.need("DO")
		switch {
		case p.accept("NOTHING"):
			s.Conflict = ast.ConflictNothing
		case p.accept("ERROR"):
			s.Conflict = ast.ConflictError
		case p.accept("DEDUPLICATE"):
			s.Conflict = ast.ConflictDeduplicate
		default:
			p.unexpected()
		}
	}
	return s
}

// partition takes (key = value, ...); unless values are a must a key may stand alone.
func (p *parser) partition(values bool) []*ast.PartitionItem {
	return parenList(p, func() *ast.PartitionItem {
		item := &ast.PartitionItem{Pos: p.pos(), Key: p.ident()}
		if values {
			p.need("=")
		} else if !p.accept("=") {
			return item
		}
		item.Value = p.literal()
		return item
	})
}

// literal takes a literal.
func (p *parser) literal() ast.Expr {
	at := p.i
	x := p.unary()
	switch x.(type) {
	case *ast.NumberLit, *ast.StringLit, *ast.BoolLit, *ast.NullLit, *ast.BinaryLit, *ast.DateTimeLit, *ast.IntervalLit,
		*ast.UnknownLit:
	default:
		p.refuse(at, "found an expression, expected a literal")
	}
	return x
}

// statementSet takes STATEMENT SET BEGIN ... END.
func (p *parser) statementSet(pos ast.Pos) *ast.StatementSet {
	s := &ast.StatementSet{Pos: pos}
	p.needAll("STATEMENT SET BEGIN")
	for {
		s.Inserts = append(s.Inserts, p.insert())
		if p.tok().kind == tEOF && p.err == nil {
			p.refuse(p.i, "the statement set has no END; every INSERT in it has a semicolon behind it, the last one too")
		}
		p.need(";")
		if p.accept("END") || !p.is("INSERT") {
			break
		}
	}
	if p.err == nil && p.toks[p.i-1].kw != "END" {
		p.unexpected()
	}
	return s
}

// execute takes EXECUTE before a statement set, a query, an INSERT or a plan.
func (p *parser) execute() ast.Statement {
	pos := p.pos()
	p.need("EXECUTE")
	switch t := p.tok(); {
	case p.is("STATEMENT"):
		return p.statementSet(pos)
	case t.kw == "PLAN":
		p.skip(1)
		return &ast.ExecutePlan{Pos: pos, File: p.text()}
	case p.is("INSERT"):
		return &ast.Execute{Pos: pos, Statement: p.insert()}
	case p.startsQuery() || t.kw == "(":
		return &ast.Execute{Pos: pos, Statement: &ast.QueryStatement{Pos: t.pos, Query: p.query()}}
	}
	p.expect("SELECT")
	p.unexpected()
	return &ast.EndStatementSet{}
}

// explainWords are the details of EXPLAIN.
var explainWords = [...]string{
	ast.ExplainEstimatedCost: "ESTIMATED_COST", ast.ExplainChangelogMode: "CHANGELOG_MODE",
	ast.ExplainPlanAdvice: "PLAN_ADVICE", ast.ExplainJSONExecutionPlan: "JSON_EXECUTION_PLAN",
	ast.ExplainVerbose: "VERBOSE",
}

// explain takes EXPLAIN.
func (p *parser) explain() ast.Statement {
	s := &ast.Explain{Pos: p.pos()}
	p.need("EXPLAIN")
	if !p.acceptAll("PLAN FOR") {
		p.explainDetails(s)
	}
	t := p.tok()
	switch {
	case p.is("STATEMENT"):
		s.Statement = p.statementSet(t.pos)
	case t.kw == "EXECUTE":
		s.Statement = p.execute()
		if _, plan := s.Statement.(*ast.ExecutePlan); plan {
			p.refuse(p.i-1, "EXPLAIN takes no plan; the file says what it is")
		}
	case p.is("INSERT"):
		s.Statement = p.insert()
	case p.is("CREATE") || t.kw == "REPLACE":
		at := p.i
		s.Statement = p.create()
		if c, ok := s.Statement.(*ast.CreateTable); !ok || c.As == nil {
			p.refuse(at, "EXPLAIN takes a CREATE TABLE only with AS and a query")
		}
	case p.startsQuery() || t.kw == "(":
		s.Statement = &ast.QueryStatement{Pos: t.pos, Query: p.query()}
	default:
		p.expect("SELECT")
		p.unexpected()
	}
	return s
}

// explainDetails takes the details of EXPLAIN.
func (p *parser) explainDetails(s *ast.Explain) {
	var has [len(explainWords)]bool
	for more := true; more; more = len(s.Details) > 0 && p.accept(",") {
		found := false
		for d, w := range explainWords {
			if !p.accept(w) {
				continue
			}
			if has[d] {
				p.refuse(p.i-1, "%s stands here twice", w)
			}
			has[d], found = true, true
			s.Details = append(s.Details, ast.ExplainDetail(d))
			break
		}
		if !found {
			if len(s.Details) > 0 {
				p.unexpected()
			}
			break
		}
	}
	s.Details = s.Details[:0]
	for d, yes := range has {
		if yes {
			s.Details = append(s.Details, ast.ExplainDetail(d))
		}
	}
}

// use takes USE.
func (p *parser) use() ast.Statement {
	s := &ast.Use{Pos: p.pos(), Kind: ast.ObjectDatabase}
	p.need("USE")
	switch {
	case p.accept("MODULES"):
		s.Kind, s.Modules = ast.ObjectModule, commaList(p, p.ident)
	case p.is("CATALOG") && nameToken(p.peek(1)):
		p.skip(1)
		s.Kind = ast.ObjectCatalog
		id := p.ident()
		s.Name = &ast.ObjectName{Pos: id.Pos, Parts: []*ast.Ident{id}}
	default:
		s.Name = p.objectName()
	}
	return s
}

// set takes SET.
func (p *parser) set() ast.Statement {
	s := &ast.Set{Pos: p.pos()}
	p.need("SET")
	if p.tok().kind == tEOF {
		return s
	}
	s.Key = p.settingKey()
	p.need("=")
	if p.tok().kind != tString && p.tok().kind != tUnicode && p.tok().kind != tEOF {
		p.refuse(p.i, "found %s, expected a string; the value of a setting stands in quotes", found(p.tok()))
	}
	s.Value = p.text()
	return s
}

// settingKey takes the key of SET and RESET.
func (p *parser) settingKey() string {
	if nameToken(p.tok()) {
		p.refuse(p.i, "found %s, expected a string; the key of a setting stands in quotes", found(p.tok()))
	}
	at := p.i
	key := p.text()
	if key == "" {
		p.refuse(at, "the key of a setting is not empty")
	}
	return key
}

// describe takes DESCRIBE.
func (p *parser) describe() ast.Statement {
	s := &ast.Describe{Pos: p.pos(), Kind: ast.ObjectTable}
	p.skip(1)
	next := p.peek(1)
	if next.kind == tEOF || next.kw == "." {
		next = nil
	}
	switch kw := p.tok().kw; {
	case kw == "TABLE":
		p.skip(1)
	case next == nil:
	case kw == "CATALOG":
		p.skip(1)
		s.Kind = ast.ObjectCatalog
	case kw == "DATABASE":
		p.skip(1)
		s.Kind = ast.ObjectDatabase
	case kw == "FUNCTION":
		p.skip(1)
		s.Kind = ast.ObjectFunction
	case kw == "JOB":
		p.skip(1)
		s.Kind, s.Job = ast.ObjectJob, p.stringLit()
		return s
	default:
		p.noSuchObject()
	}
	s.Extended = p.accept("EXTENDED")
	s.Name = p.objectName()
	return s
}

// rareStatement takes the statements that scripts of jobs seldom hold.
func (p *parser) rareStatement(t *token) ast.Statement {
	p.skip(1)
	switch t.kw {
	case "LOAD":
		p.need("MODULE")
		s := &ast.LoadModule{Pos: t.pos, Name: p.ident()}
		if p.accept("WITH") {
			s.Options = p.options()
		}
		return s
	case "UNLOAD":
		p.need("MODULE")
		return &ast.UnloadModule{Pos: t.pos, Name: p.ident()}
	case "ADD", "REMOVE":
		p.need("JAR")
		return &ast.Jar{Pos: t.pos, Remove: t.kw == "REMOVE", Path: p.text()}
	case "STOP":
		return p.stopJob(t.pos)
	case "TRUNCATE":
		p.need("TABLE")
		return &ast.Truncate{Pos: t.pos, Table: p.objectName()}
	case "UPDATE":
		s := &ast.Update{Pos: t.pos, Table: p.objectName(), Alias: p.alias("table")}
		p.need("SET")
		s.Set = commaList(p, p.assignment)
		if p.accept("WHERE") {
			s.Where = p.expr()
		}
		return s
	case "DELETE":
		p.need("FROM")
		s := &ast.Delete{Pos: t.pos, Table: p.objectName(), Alias: p.alias("table")}
		if p.accept("WHERE") {
			s.Where = p.expr()
		}
		return s
	case "ANALYZE":
		return p.analyze(t.pos)
	case "COMPILE":
		return p.compilePlan(t.pos)
	}
	if !p.callAhead() {
		p.expect("a call of a procedure")
		p.unexpected()
	}
	return &ast.Call{Pos: t.pos, Call: p.procedure()}
}

// procedure takes the call of a procedure; nothing may follow its arguments.
func (p *parser) procedure() *ast.FuncCall {
	name := p.objectName()
	c := &ast.FuncCall{Pos: name.Pos, Name: name}
	p.need("(")
	if !p.is(")") {
		c.Args = commaList(p, p.arg)
	}
	p.need(")")
	return c
}

// stopJob takes STOP JOB.
func (p *parser) stopJob(pos ast.Pos) ast.Statement {
	p.need("JOB")
	s := &ast.StopJob{Pos: pos, Job: p.text()}
	s.Savepoint = p.acceptAll("WITH SAVEPOINT")
	at := p.i
	s.Drain = p.acceptAll("WITH DRAIN")
	if s.Drain && !s.Savepoint {
		p.refuse(at, "WITH DRAIN stands behind WITH SAVEPOINT")
	}
	return s
}

// assignment takes one assignment of UPDATE.
func (p *parser) assignment() *ast.Assignment {
	a := &ast.Assignment{Pos: p.pos(), Column: p.ident()}
	p.need("=")
	a.Value = p.expr()
	return a
}

// analyze takes ANALYZE TABLE.
func (p *parser) analyze(pos ast.Pos) ast.Statement {
	p.need("TABLE")
	s := &ast.Analyze{Pos: pos, Table: p.objectName()}
	if p.accept("PARTITION") {
		s.Partition = p.partition(false)
	}
	p.needAll("COMPUTE STATISTICS")
	if !p.accept("FOR") {
		return s
	}
	if p.accept("ALL") {
		p.need("COLUMNS")
		s.AllColumns = true
		return s
	}
	p.need("COLUMNS")
	s.Columns = commaList(p, p.ident)
	return s
}

// compilePlan takes COMPILE PLAN and COMPILE AND EXECUTE PLAN.
func (p *parser) compilePlan(pos ast.Pos) ast.Statement {
	s := &ast.CompilePlan{Pos: pos}
	if p.accept("AND") {
		p.need("EXECUTE")
		s.Execute = true
	}
	p.need("PLAN")
	s.File = p.text()
	if !s.Execute && p.acceptAll("IF NOT EXISTS") {
		s.IfNotExists = true
	}
	p.need("FOR")
	if t := p.tok(); p.is("STATEMENT") {
		s.Statement = p.statementSet(t.pos)
	} else {
		s.Statement = p.insert()
	}
	return s
}

// showKinds are what SHOW lists, with what may follow: f for FROM or IN, l for LIKE, n for a name that must follow.
var showKinds = [...]struct {
	words string
	kind  ast.ShowKind
	takes string
}{
	{"CATALOGS", ast.ShowCatalogs, "l"},
	{"CURRENT CATALOG", ast.ShowCurrentCatalog, ""},
	{"CURRENT DATABASE", ast.ShowCurrentDatabase, ""},
	{"DATABASES", ast.ShowDatabases, "fl"},
	{"TABLES", ast.ShowTables, "fl"},
	{"VIEWS", ast.ShowViews, "fl"},
	{"COLUMNS", ast.ShowColumns, "Fl"},
	{"PARTITIONS", ast.ShowPartitions, "n"},
	{"FUNCTIONS", ast.ShowFunctions, "fl"},
	{"USER FUNCTIONS", ast.ShowUserFunctions, "fl"},
	{"PROCEDURES", ast.ShowProcedures, "fl"},
	{"MODULES", ast.ShowModules, ""},
	{"FULL MODULES", ast.ShowFullModules, ""},
	{"JARS", ast.ShowJars, ""},
	{"JOBS", ast.ShowJobs, ""},
	{"CREATE TABLE", ast.ShowCreateTable, "n"},
	{"CREATE VIEW", ast.ShowCreateView, "n"},
	{"CREATE CATALOG", ast.ShowCreateCatalog, "n"},
}

// show takes SHOW.
func (p *parser) show() ast.Statement {
	s := &ast.Show{Pos: p.pos()}
	p.need("SHOW")
	p.noSuchObject()
	if p.tok().kw == "CREATE" {
		switch p.peek(1).kw {
		case "MODEL", "CONNECTION", "MATERIALIZED":
			p.skip(1)
			p.noSuchObject()
		}
	}
	for _, k := range showKinds {
		if p.acceptAll(k.words) {
			s.Kind = k.kind
			p.showRest(s, k.takes)
			return s
		}
	}
	p.unexpected()
	return s
}

// showRest takes what follows what SHOW lists.
func (p *parser) showRest(s *ast.Show, takes string) {
	if takes == "n" {
		s.Name = p.objectName()
		if s.Kind == ast.ShowPartitions && p.accept("PARTITION") {
			s.Partition = p.partition(true)
		}
		return
	}
	if strings.ContainsAny(takes, "fF") {
		switch {
		case p.accept("FROM"):
			s.Name = p.objectName()
		case p.accept("IN"):
			s.In, s.Name = true, p.objectName()
		case takes[0] == 'F':
			p.unexpected()
		}
		if s.Kind == ast.ShowDatabases && s.Name != nil && len(s.Name.Parts) > 1 {
			p.refuse(p.i-1, "databases are in a catalog, whose name has one part")
		}
	}
	if !strings.Contains(takes, "l") {
		return
	}
	s.Not = p.accept("NOT")
	switch {
	case p.accept("LIKE"):
	case p.accept("ILIKE"):
		s.Insensitive = true
	case s.Not:
		p.unexpected()
		return
	default:
		return
	}
	s.Like = p.stringLit()
}
