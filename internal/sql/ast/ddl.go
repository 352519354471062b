package ast

// CreateTable is CREATE [OR REPLACE] [TEMPORARY] TABLE in all its forms: with columns, LIKE another table, AS a query.
type CreateTable struct {
	Pos
	OrReplace, Temporary, IfNotExists bool
	// Replace is REPLACE TABLE, which wants a query and the table to be there already.
	Replace bool
	Name    *ObjectName
	// Columns are the columns as written. In CREATE TABLE t (a, b) AS ..., which only orders the query's columns, they
	// have neither type nor expression.
	Columns     []*ColumnDef
	Constraints []*Constraint
	Watermark   *Watermark
	Comment     *StringLit
	Distributed *Distribution
	PartitionBy []*Ident
	Options     []*Option
	Like        *TableLike
	// As is the query of CREATE TABLE AS.
	As Query
}

// ColumnDef is a column of a table. It is physical, METADATA or computed.
type ColumnDef struct {
	Pos
	// Name has one part; the grammar admits more, for fields of rows.
	Name *ObjectName
	// Type is nil for a computed column.
	Type *Type
	// Computed is the expression behind AS.
	Computed Expr
	// Metadata says METADATA; MetadataKey is what stands behind FROM.
	Metadata    bool
	MetadataKey *StringLit
	Virtual     bool
	// Constraint is PRIMARY KEY or UNIQUE at the column itself; its Columns are nil.
	Constraint *Constraint
	Comment    *StringLit
	// First and After place the column, in ALTER TABLE only.
	First bool
	After *ObjectName
}

// ConstraintKind tells the kinds of constraints apart.
type ConstraintKind uint8

// The kinds of constraints.
const (
	PrimaryKey ConstraintKind = iota
	Unique
)

// Enforcement is what was said about a constraint's being checked.
type Enforcement uint8

// ENFORCED, NOT ENFORCED, or neither.
const (
	EnforcementUnspecified Enforcement = iota
	Enforced
	NotEnforced
)

// Constraint is PRIMARY KEY or UNIQUE.
type Constraint struct {
	Pos
	// Name is that of CONSTRAINT name.
	Name     *Ident
	Kind     ConstraintKind
	Columns  []*Ident
	Enforced Enforcement
}

// Watermark is WATERMARK FOR column AS expression.
type Watermark struct {
	Pos
	// Column has more than one part if it is a field of a row.
	Column *ObjectName
	Expr   Expr
}

// DistributionKind is how rows are dealt out to buckets.
type DistributionKind uint8

// How rows are dealt out to buckets.
const (
	DistributionUnspecified DistributionKind = iota
	DistributionHash
	DistributionRange
)

// Distribution is DISTRIBUTED BY [HASH | RANGE] (columns) [INTO n BUCKETS] or DISTRIBUTED INTO n BUCKETS.
type Distribution struct {
	Pos
	Kind    DistributionKind
	Columns []*Ident
	// Buckets is nil where the number was left out.
	Buckets *NumberLit
}

// TableLike is LIKE source (options).
type TableLike struct {
	Pos
	Source  *ObjectName
	Options []*LikeOption
}

// LikeMode is what happens to a feature of the source table.
type LikeMode uint8

// What happens to a feature of the source table.
const (
	Including LikeMode = iota
	Excluding
	Overwriting
)

// LikeFeature is a part of a table that LIKE may take over.
type LikeFeature uint8

// The parts of a table that LIKE may take over.
const (
	LikeAll LikeFeature = iota
	LikeConstraints
	LikeDistribution
	LikeGenerated
	LikeMetadata
	LikeOptions
	LikePartitions
	LikeWatermarks
)

// LikeOption is one INCLUDING, EXCLUDING or OVERWRITING of LIKE.
type LikeOption struct {
	Pos
	Mode    LikeMode
	Feature LikeFeature
}

// CreateView is CREATE [OR REPLACE] [TEMPORARY] VIEW.
type CreateView struct {
	Pos
	OrReplace, Temporary, IfNotExists bool
	Name                              *ObjectName
	Columns                           []*Ident
	Comment                           *StringLit
	Query                             Query
}

// CreateCatalog is CREATE CATALOG.
type CreateCatalog struct {
	Pos
	IfNotExists bool
	Name        *Ident
	Comment     *StringLit
	Options     []*Option
}

// CreateDatabase is CREATE DATABASE.
type CreateDatabase struct {
	Pos
	IfNotExists bool
	Name        *ObjectName
	Comment     *StringLit
	Options     []*Option
}

// CreateFunction is CREATE [TEMPORARY [SYSTEM]] FUNCTION.
type CreateFunction struct {
	Pos
	Temporary, System, IfNotExists bool
	Name                           *ObjectName
	Class                          *StringLit
	// Language is JAVA, SCALA or PYTHON, or "".
	Language string
	Using    []*Resource
	Options  []*Option
}

// Resource is one JAR 'path' or ARTIFACT 'path' of a function.
type Resource struct {
	Pos
	Artifact bool
	Path     string
}

// Drop is DROP of anything.
type Drop struct {
	Pos
	Kind ObjectKind
	// System goes with Temporary, for functions.
	Temporary, System, IfExists bool
	Name                        *ObjectName
	// Cascade is CASCADE behind DROP DATABASE; RESTRICT is what happens without it.
	Cascade bool
}

// AlterTable is ALTER TABLE [IF EXISTS] name action.
type AlterTable struct {
	Pos
	IfExists bool
	Name     *ObjectName
	Action   AlterAction
}

// AlterColumns is ADD or MODIFY with columns, constraint, watermark and distribution.
type AlterColumns struct {
	Pos
	// Modify says MODIFY and not ADD.
	Modify      bool
	Columns     []*ColumnDef
	Constraints []*Constraint
	Watermark   *Watermark
	Distributed *Distribution
}

// AlterDropColumns is DROP column or DROP (columns).
type AlterDropColumns struct {
	Pos
	Columns []*ObjectName
}

// AlterDropPrimaryKey is DROP PRIMARY KEY.
type AlterDropPrimaryKey struct{ Pos }

// AlterDropConstraint is DROP CONSTRAINT name.
type AlterDropConstraint struct {
	Pos
	Name *Ident
}

// AlterDropWatermark is DROP WATERMARK.
type AlterDropWatermark struct{ Pos }

// AlterDropDistribution is DROP DISTRIBUTION.
type AlterDropDistribution struct{ Pos }

// AlterRenameColumn is RENAME column TO name.
type AlterRenameColumn struct {
	Pos
	From, To *ObjectName
}

// AlterRename is RENAME TO name, of a table or a view.
type AlterRename struct {
	Pos
	To *ObjectName
}

// AlterSet is SET (options).
type AlterSet struct {
	Pos
	Options []*Option
}

// AlterReset is RESET (keys).
type AlterReset struct {
	Pos
	Keys []*StringLit
}

// AlterAs is AS query, of a view.
type AlterAs struct {
	Pos
	Query Query
}

// AlterComment is COMMENT 'text', of a catalog.
type AlterComment struct {
	Pos
	Text string
}

// AlterAddPartition is ADD [IF NOT EXISTS] PARTITION (...) [WITH (...)] ...
type AlterAddPartition struct {
	Pos
	IfNotExists bool
	Partitions  []*PartitionDef
}

// PartitionDef is one partition that ADD PARTITION makes.
type PartitionDef struct {
	Pos
	Items   []*PartitionItem
	Options []*Option
}

// AlterDropPartition is DROP [IF EXISTS] PARTITION (...), PARTITION (...).
type AlterDropPartition struct {
	Pos
	IfExists   bool
	Partitions []*PartitionDef
}

// AlterView is ALTER VIEW name RENAME TO or AS.
type AlterView struct {
	Pos
	Name *ObjectName
	// Action is *AlterRename or *AlterAs.
	Action AlterAction
}

// AlterDatabase is ALTER DATABASE name SET (options).
type AlterDatabase struct {
	Pos
	Name    *ObjectName
	Options []*Option
}

// AlterCatalog is ALTER CATALOG name SET, RESET or COMMENT.
type AlterCatalog struct {
	Pos
	Name *Ident
	// Action is *AlterSet, *AlterReset or *AlterComment.
	Action AlterAction
}

// AlterFunction is ALTER [TEMPORARY [SYSTEM]] FUNCTION [IF EXISTS] name AS 'class' [LANGUAGE ...].
type AlterFunction struct {
	Pos
	Temporary, System, IfExists bool
	Name                        *ObjectName
	Class                       *StringLit
	Language                    string
}

func (*CreateTable) statement()    {}
func (*CreateView) statement()     {}
func (*CreateCatalog) statement()  {}
func (*CreateDatabase) statement() {}
func (*CreateFunction) statement() {}
func (*Drop) statement()           {}
func (*AlterTable) statement()     {}
func (*AlterView) statement()      {}
func (*AlterDatabase) statement()  {}
func (*AlterCatalog) statement()   {}
func (*AlterFunction) statement()  {}

func (*AlterColumns) alterAction()          {}
func (*AlterDropColumns) alterAction()      {}
func (*AlterDropPrimaryKey) alterAction()   {}
func (*AlterDropConstraint) alterAction()   {}
func (*AlterDropWatermark) alterAction()    {}
func (*AlterDropDistribution) alterAction() {}
func (*AlterRenameColumn) alterAction()     {}
func (*AlterRename) alterAction()           {}
func (*AlterSet) alterAction()              {}
func (*AlterReset) alterAction()            {}
func (*AlterAs) alterAction()               {}
func (*AlterComment) alterAction()          {}
func (*AlterAddPartition) alterAction()     {}
func (*AlterDropPartition) alterAction()    {}
