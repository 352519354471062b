package ast

// QueryStatement is a query on its own, whose result goes to the user.
type QueryStatement struct {
	Pos
	Query Query
}

// Insert is INSERT INTO or INSERT OVERWRITE.
type Insert struct {
	Pos
	Overwrite bool
	Table     *ObjectName
	// Hints stand behind the table.
	Hints []*Hint
	// Partition is PARTITION (k = v, ...); a value may be missing.
	Partition []*PartitionItem
	// Columns is the list behind the table's name.
	Columns []*ObjectName
	Query   Query
	// Conflict is ON CONFLICT DO ...
	Conflict ConflictAction
}

// ConflictAction says what an upsert sink does with rows of one key that come from different upsert keys.
type ConflictAction uint8

// The actions of ON CONFLICT.
const (
	ConflictNone ConflictAction = iota
	ConflictNothing
	ConflictError
	ConflictDeduplicate
)

// PartitionItem is one `key = value` of a PARTITION clause.
type PartitionItem struct {
	Pos
	Key *Ident
	// Value is a literal; only ANALYZE and SHOW PARTITIONS may leave it out.
	Value Expr
}

// StatementSet is EXECUTE STATEMENT SET BEGIN ... END: several INSERTs that run as one job.
type StatementSet struct {
	Pos
	Inserts []*Insert
}

// BeginStatementSet is BEGIN STATEMENT SET, which opens a set that later statements of the script fill.
type BeginStatementSet struct{ Pos }

// EndStatementSet is END, which closes and runs the set.
type EndStatementSet struct{ Pos }

// Execute is EXECUTE before a query or an INSERT, which runs as it would alone.
type Execute struct {
	Pos
	Statement Statement
}

// ExplainDetail is a flag of EXPLAIN.
type ExplainDetail uint8

// The flags of EXPLAIN, in the order in which they are printed. Verbose is Weir's own: the trace of the rules.
const (
	ExplainEstimatedCost ExplainDetail = iota
	ExplainChangelogMode
	ExplainPlanAdvice
	ExplainJSONExecutionPlan
	ExplainVerbose
)

// Explain is EXPLAIN [details] or EXPLAIN PLAN FOR before a query, an INSERT, a statement set or a CREATE TABLE AS.
type Explain struct {
	Pos
	// Details has each flag once, in ascending order.
	Details   []ExplainDetail
	Statement Statement
}

// Has reports whether the flag was given.
func (e *Explain) Has(d ExplainDetail) bool {
	for _, x := range e.Details {
		if x == d {
			return true
		}
	}
	return false
}

// Set is SET 'key' = 'value'; without a key it lists all settings.
type Set struct {
	Pos
	// Key is "" for SET alone.
	Key, Value string
}

// Reset is RESET 'key'; without a key it resets all settings.
type Reset struct {
	Pos
	Key string
}

// Use is USE [CATALOG] name or USE MODULES a, b.
type Use struct {
	Pos
	// Kind is ObjectDatabase, ObjectCatalog or ObjectModule.
	Kind ObjectKind
	// Name is the database or catalog.
	Name *ObjectName
	// Modules are the names behind USE MODULES.
	Modules []*Ident
}

// ObjectKind is a kind of thing that statements create, drop or show.
type ObjectKind uint8

// The kinds of objects.
const (
	ObjectTable ObjectKind = iota
	ObjectView
	ObjectCatalog
	ObjectDatabase
	ObjectFunction
	ObjectModule
	ObjectJob
)

// ShowKind is what SHOW lists.
type ShowKind uint8

// What SHOW lists.
const (
	ShowCatalogs ShowKind = iota
	ShowCurrentCatalog
	ShowDatabases
	ShowCurrentDatabase
	ShowTables
	ShowViews
	ShowColumns
	ShowPartitions
	ShowFunctions
	ShowUserFunctions
	ShowProcedures
	ShowModules
	ShowFullModules
	ShowJars
	ShowJobs
	ShowCreateTable
	ShowCreateView
	ShowCreateCatalog
)

// Show is SHOW with its filters.
type Show struct {
	Pos
	Kind ShowKind
	// Name is the object of SHOW CREATE and SHOW PARTITIONS, or what FROM or IN names: a catalog, a database, a table.
	Name *ObjectName
	// In says that Name was written behind IN and not behind FROM; the two mean the same.
	In bool
	// Partition narrows SHOW PARTITIONS.
	Partition []*PartitionItem
	// Not, Insensitive and Like are [NOT] LIKE or ILIKE 'pattern'.
	Not, Insensitive bool
	Like             *StringLit
}

// Describe is DESCRIBE or DESC.
type Describe struct {
	Pos
	// Kind is ObjectTable for DESCRIBE name, which takes views too.
	Kind     ObjectKind
	Extended bool
	// Name is the object, but for jobs.
	Name *ObjectName
	// Job is the id behind DESCRIBE JOB.
	Job *StringLit
}

// LoadModule is LOAD MODULE name [WITH (...)].
type LoadModule struct {
	Pos
	Name    *Ident
	Options []*Option
}

// UnloadModule is UNLOAD MODULE name.
type UnloadModule struct {
	Pos
	Name *Ident
}

// Jar is ADD JAR or REMOVE JAR.
type Jar struct {
	Pos
	Remove bool
	Path   string
}

// StopJob is STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN].
type StopJob struct {
	Pos
	Job              string
	Savepoint, Drain bool
}

// Truncate is TRUNCATE TABLE name.
type Truncate struct {
	Pos
	Table *ObjectName
}

// Update is UPDATE name SET a = x, ... [WHERE ...].
type Update struct {
	Pos
	Table *ObjectName
	Alias *Ident
	Set   []*Assignment
	Where Expr
}

// Assignment is one `column = value` of UPDATE.
type Assignment struct {
	Pos
	Column *Ident
	Value  Expr
}

// Delete is DELETE FROM name [WHERE ...].
type Delete struct {
	Pos
	Table *ObjectName
	Alias *Ident
	Where Expr
}

// Analyze is ANALYZE TABLE name [PARTITION (...)] COMPUTE STATISTICS [FOR COLUMNS a, b | FOR ALL COLUMNS].
type Analyze struct {
	Pos
	Table      *ObjectName
	Partition  []*PartitionItem
	Columns    []*Ident
	AllColumns bool
}

// Call is CALL procedure(arguments).
type Call struct {
	Pos
	Call *FuncCall
}

// CompilePlan is COMPILE PLAN 'file' [IF NOT EXISTS] FOR statement, or COMPILE AND EXECUTE PLAN 'file' FOR statement.
type CompilePlan struct {
	Pos
	File        string
	IfNotExists bool
	// Execute runs the plan as well.
	Execute   bool
	Statement Statement
}

// ExecutePlan is EXECUTE PLAN 'file'.
type ExecutePlan struct {
	Pos
	File string
}

// ClientCommand is a word that only the shell understands.
type ClientCommand struct {
	Pos
	// Word is QUIT, EXIT, CLEAR or HELP.
	Word string
}

func (*QueryStatement) statement()    {}
func (*Insert) statement()            {}
func (*StatementSet) statement()      {}
func (*BeginStatementSet) statement() {}
func (*EndStatementSet) statement()   {}
func (*Execute) statement()           {}
func (*Explain) statement()           {}
func (*Set) statement()               {}
func (*Reset) statement()             {}
func (*Use) statement()               {}
func (*Show) statement()              {}
func (*Describe) statement()          {}
func (*LoadModule) statement()        {}
func (*UnloadModule) statement()      {}
func (*Jar) statement()               {}
func (*StopJob) statement()           {}
func (*Truncate) statement()          {}
func (*Update) statement()            {}
func (*Delete) statement()            {}
func (*Analyze) statement()           {}
func (*Call) statement()              {}
func (*CompilePlan) statement()       {}
func (*ExecutePlan) statement()       {}
func (*ClientCommand) statement()     {}
