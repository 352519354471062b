package ast

// statement writes a statement, without a semicolon.
func (p *printer) statement(s Statement) {
	switch s := s.(type) {
	case *QueryStatement:
		p.query(s.Query)
	case *Insert:
		p.insert(s)
	case *StatementSet:
		p.s("EXECUTE ")
		p.statementSet(s)
	case *BeginStatementSet:
		p.s("BEGIN STATEMENT SET")
	case *EndStatementSet:
		p.s("END")
	case *Execute:
		p.s("EXECUTE ")
		p.statement(s.Statement)
	case *Explain:
		p.explain(s)
	case *Set:
		p.s("SET")
		if s.Key != "" {
			p.s(" ", QuoteString(s.Key), " = ", QuoteString(s.Value))
		}
	case *Reset:
		p.s("RESET")
		if s.Key != "" {
			p.s(" ", QuoteString(s.Key))
		}
	case *Use:
		p.use(s)
	case *Show:
		p.show(s)
	case *Describe:
		p.describe(s)
	case *CompilePlan:
		p.compilePlan(s)
	case *ExecutePlan:
		p.s("EXECUTE PLAN ", QuoteString(s.File))
	case *ClientCommand:
		p.s(s.Word)
	case *CreateTable, *CreateView, *CreateCatalog, *CreateDatabase, *CreateFunction, *Drop:
		p.create(s)
	case *AlterTable, *AlterView, *AlterDatabase, *AlterCatalog, *AlterFunction:
		p.alterStatement(s)
	default:
		p.rareStatement(s)
	}
}

// rareStatement writes the statements that sources of jobs seldom hold.
func (p *printer) rareStatement(s Statement) {
	switch s := s.(type) {
	case *LoadModule:
		p.s("LOAD MODULE ")
		p.name(s.Name)
		p.with(s.Options)
	case *UnloadModule:
		p.s("UNLOAD MODULE ")
		p.name(s.Name)
	case *Jar:
		p.s([...]string{"ADD", "REMOVE"}[b2i(s.Remove)], " JAR ", QuoteString(s.Path))
	case *StopJob:
		p.s("STOP JOB ", QuoteString(s.Job))
		p.when(s.Savepoint, " WITH SAVEPOINT")
		p.when(s.Drain, " WITH DRAIN")
	case *Truncate:
		p.s("TRUNCATE TABLE ")
		p.path(s.Table.Parts)
	case *Update:
		p.s("UPDATE ")
		p.path(s.Table.Parts)
		p.as(s.Alias)
		p.s(" SET ")
		list(p, s.Set)
		p.clause(" WHERE ", s.Where)
	case *Delete:
		p.s("DELETE FROM ")
		p.path(s.Table.Parts)
		p.as(s.Alias)
		p.clause(" WHERE ", s.Where)
	case *Analyze:
		p.analyze(s)
	case *Call:
		p.s("CALL ")
		p.path(s.Call.Name.Parts)
		parens(p, s.Call.Args)
	}
}

// as writes the alias of UPDATE and DELETE. UPDATE takes no AS.
func (p *printer) as(alias *Ident) {
	if alias != nil {
		p.s(" ")
		p.name(alias)
	}
}

// insert writes INSERT.
func (p *printer) insert(s *Insert) {
	p.s("INSERT ", [...]string{"INTO ", "OVERWRITE "}[b2i(s.Overwrite)])
	p.path(s.Table.Parts)
	p.hints(s.Hints, " ", "")
	p.partition(s.Partition)
	if len(s.Columns) > 0 {
		p.s(" ")
		parens(p, s.Columns)
	}
	p.s(" ")
	p.query(s.Query)
	p.s([...]string{"", " ON CONFLICT DO NOTHING", " ON CONFLICT DO ERROR", " ON CONFLICT DO DEDUPLICATE"}[s.Conflict])
}

// partition writes PARTITION (...) if there is one.
func (p *printer) partition(items []*PartitionItem) {
	if len(items) > 0 {
		p.s(" PARTITION ")
		parens(p, items)
	}
}

// statementSet writes STATEMENT SET BEGIN ... END.
func (p *printer) statementSet(s *StatementSet) {
	p.s("STATEMENT SET BEGIN ")
	for _, i := range s.Inserts {
		p.insert(i)
		p.s("; ")
	}
	p.s("END")
}

// inner writes the statement of EXPLAIN or COMPILE PLAN; a statement set has no EXECUTE there.
func (p *printer) inner(s Statement) {
	if set, ok := s.(*StatementSet); ok {
		p.statementSet(set)
		return
	}
	p.statement(s)
}

// explain writes EXPLAIN.
func (p *printer) explain(s *Explain) {
	p.s("EXPLAIN ")
	for i, d := range s.Details {
		p.when(i > 0, ", ")
		p.s([...]string{"ESTIMATED_COST", "CHANGELOG_MODE", "PLAN_ADVICE", "JSON_EXECUTION_PLAN", "VERBOSE"}[d])
	}
	p.when(len(s.Details) > 0, " ")
	p.inner(s.Statement)
}

// compilePlan writes COMPILE PLAN.
func (p *printer) compilePlan(s *CompilePlan) {
	p.s("COMPILE ")
	p.when(s.Execute, "AND EXECUTE ")
	p.s("PLAN ", QuoteString(s.File))
	p.when(s.IfNotExists, " IF NOT EXISTS")
	p.s(" FOR ")
	p.inner(s.Statement)
}

var objectNames = [...]string{
	ObjectTable: "TABLE", ObjectView: "VIEW", ObjectCatalog: "CATALOG", ObjectDatabase: "DATABASE",
	ObjectFunction: "FUNCTION", ObjectModule: "MODULE", ObjectJob: "JOB",
}

// String returns the keyword of the kind.
func (k ObjectKind) String() string { return objectNames[k] }

// use writes USE.
func (p *printer) use(s *Use) {
	p.s("USE ")
	switch s.Kind {
	case ObjectModule:
		p.s("MODULES ")
		list(p, s.Modules)
		return
	case ObjectCatalog:
		p.s("CATALOG ")
	}
	p.path(s.Name.Parts)
}

var showNames = [...]string{
	ShowCatalogs: "CATALOGS", ShowCurrentCatalog: "CURRENT CATALOG", ShowDatabases: "DATABASES",
	ShowCurrentDatabase: "CURRENT DATABASE", ShowTables: "TABLES", ShowViews: "VIEWS", ShowColumns: "COLUMNS",
	ShowPartitions: "PARTITIONS", ShowFunctions: "FUNCTIONS", ShowUserFunctions: "USER FUNCTIONS",
	ShowProcedures: "PROCEDURES", ShowModules: "MODULES", ShowFullModules: "FULL MODULES", ShowJars: "JARS",
	ShowJobs: "JOBS", ShowCreateTable: "CREATE TABLE", ShowCreateView: "CREATE VIEW", ShowCreateCatalog: "CREATE CATALOG",
}

// String returns what stands behind SHOW.
func (k ShowKind) String() string { return showNames[k] }

// show writes SHOW.
func (p *printer) show(s *Show) {
	p.s("SHOW ", s.Kind.String())
	if s.Name != nil {
		switch {
		case s.Kind == ShowPartitions || s.Kind >= ShowCreateTable:
		case s.In:
			p.s(" IN")
		default:
			p.s(" FROM")
		}
		p.s(" ")
		p.path(s.Name.Parts)
	}
	p.partition(s.Partition)
	if s.Like != nil {
		p.when(s.Not, " NOT")
		p.s([...]string{" LIKE ", " ILIKE "}[b2i(s.Insensitive)])
		p.node(s.Like)
	}
}

// describe writes DESCRIBE.
func (p *printer) describe(s *Describe) {
	p.s("DESCRIBE ")
	if s.Kind != ObjectTable {
		p.s(s.Kind.String(), " ")
	}
	p.when(s.Extended, "EXTENDED ")
	if s.Job != nil {
		p.node(s.Job)
		return
	}
	p.path(s.Name.Parts)
}

// analyze writes ANALYZE TABLE.
func (p *printer) analyze(s *Analyze) {
	p.s("ANALYZE TABLE ")
	p.path(s.Table.Parts)
	p.partition(s.Partition)
	p.s(" COMPUTE STATISTICS")
	switch {
	case s.AllColumns:
		p.s(" FOR ALL COLUMNS")
	case len(s.Columns) > 0:
		p.s(" FOR COLUMNS ")
		list(p, s.Columns)
	}
}
