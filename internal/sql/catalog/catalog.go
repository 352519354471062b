package catalog

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/weir-stream/weir/internal/sql/ast"
	"github.com/weir-stream/weir/internal/sql/datatype"
)

// Names of what there is from the start.
const (
	DefaultCatalog  = "default_catalog"
	DefaultDatabase = "default_database"
)

// Path is the full name of a table or view.
type Path struct{ Catalog, Database, Name string }

// String writes the name as Flink does.
func (p Path) String() string {
	q := func(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }
	return q(p.Catalog) + "." + q(p.Database) + "." + q(p.Name)
}

// Column is a column of a table.
type Column struct {
	Name string
	// Type is that of physical and metadata columns; that of a computed one follows from its expression.
	Type datatype.Type
	// Computed is the expression of a computed column.
	Computed ast.Expr
	// Metadata says METADATA; Key is the key, the column's name unless FROM says otherwise. Virtual columns are not written.
	Metadata bool
	Key      string
	Virtual  bool
	Comment  string
}

// Watermark is that of a table.
type Watermark struct {
	// Column is the time attribute; a name with dots is a field of a row.
	Column []string
	Expr   ast.Expr
}

// Relation is a table or a view.
type Relation interface{ relation() }

// Table is what CREATE TABLE has described.
type Table struct {
	Path       Path
	Columns    []Column
	Watermark  *Watermark
	PrimaryKey []string
	// KeyName is the name of the primary key's constraint.
	KeyName    string
	Partitions []string
	// Distribution is how it was written, for SHOW CREATE TABLE.
	Distribution *ast.Distribution
	Options      map[string]string
	Comment      string
	Temporary    bool
}

// View is a query with a name. It is bound anew each time it is used.
type View struct {
	Path Path
	// Columns are the names written behind the view's; nil if there are none.
	Columns   []string
	Query     ast.Query
	Text      string
	Comment   string
	Temporary bool
	// Catalog and Database are those in which its names are looked up.
	Catalog, Database string
}

func (*Table) relation() {}
func (*View) relation()  {}

type database struct {
	comment   string
	options   map[string]string
	relations map[string]Relation
}

type catalogue struct {
	comment   string
	options   map[string]string
	databases map[string]*database
}

// Catalogs are all catalogs of a session, and which of them is the current one.
type Catalogs struct {
	mu        sync.Mutex
	all       map[string]*catalogue
	temporary map[Path]Relation
	catalog   string
	database  string
}

// New returns the default catalog with the default database.
func New() *Catalogs {
	return &Catalogs{catalog: DefaultCatalog, database: DefaultDatabase, temporary: map[Path]Relation{},
		all: map[string]*catalogue{DefaultCatalog: {databases: map[string]*database{DefaultDatabase: {relations: map[string]Relation{}}}}}}
}

// Current returns the names of the current catalog and database.
func (c *Catalogs) Current() (catalog, database string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.catalog, c.database
}

// Qualify completes a name of one to three parts.
func (c *Catalogs) Qualify(parts []string) (Path, error) {
	cat, db := c.Current()
	return QualifyIn(cat, db, parts)
}

// QualifyIn completes a name by the given catalog and database.
func QualifyIn(catalog, database string, parts []string) (Path, error) {
	switch len(parts) {
	case 1:
		return Path{catalog, database, parts[0]}, nil
	case 2:
		return Path{catalog, parts[0], parts[1]}, nil
	case 3:
		return Path{parts[0], parts[1], parts[2]}, nil
	}
	return Path{}, fmt.Errorf("the name %s has %d parts; it is written catalog.database.name", strings.Join(parts, "."), len(parts))
}

// Find returns the table or view of that name; temporary ones hide others. nil if there is none.
func (c *Catalogs) Find(p Path) Relation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.temporary[p]; r != nil {
		return r
	}
	if db := c.db(p); db != nil {
		return db.relations[p.Name]
	}
	return nil
}

func (c *Catalogs) db(p Path) *database {
	if cat := c.all[p.Catalog]; cat != nil {
		return cat.databases[p.Database]
	}
	return nil
}

// Put stores a table or view. replace says what to do if there is one already.
func (c *Catalogs) Put(p Path, r Relation, temporary, replace bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if temporary {
		if c.temporary[p] != nil && !replace {
			return &Exists{"temporary table or view", p.String()}
		}
		c.temporary[p] = r
		return nil
	}
	db := c.db(p)
	if db == nil {
		return &Missing{Kind: "database", Name: p.Catalog + "." + p.Database, Near: c.databasesOf(p.Catalog)}
	}
	if db.relations[p.Name] != nil && !replace {
		return &Exists{"table or view", p.String()}
	}
	db.relations[p.Name] = r
	return nil
}

// Remove takes a table or view away and reports whether it was there.
func (c *Catalogs) Remove(p Path, temporary bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if temporary {
		_, ok := c.temporary[p]
		delete(c.temporary, p)
		return ok
	}
	db := c.db(p)
	if db == nil || db.relations[p.Name] == nil {
		return false
	}
	delete(db.relations, p.Name)
	return true
}

// Relations lists the names of tables and views in a database, temporary ones included, in order.
func (c *Catalogs) Relations(catalog, database string, keep func(Relation) bool) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	if db := c.db(Path{Catalog: catalog, Database: database}); db != nil {
		for n, r := range db.relations {
			if keep(r) {
				names = append(names, n)
			}
		}
	}
	for p, r := range c.temporary {
		if p.Catalog == catalog && p.Database == database && keep(r) {
			names = append(names, p.Name)
		}
	}
	sort.Strings(names)
	return slices.Compact(names)
}

// CreateCatalog adds an empty catalog, which has a database "default".
func (c *Catalogs) CreateCatalog(name string, options map[string]string, comment string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[name] != nil {
		return &Exists{"catalog", name}
	}
	c.all[name] = &catalogue{comment: comment, options: options, databases: map[string]*database{"default": {relations: map[string]Relation{}}}}
	return nil
}

// DropCatalog removes a catalog that is not the current one.
func (c *Catalogs) DropCatalog(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.all[name] == nil:
		return &Missing{Kind: "catalog", Name: name, Near: sorted(c.all)}
	case name == c.catalog:
		return fmt.Errorf("the catalog %s is the current one: USE CATALOG another first", name)
	}
	delete(c.all, name)
	return nil
}

// CreateDatabase adds an empty database.
func (c *Catalogs) CreateDatabase(catalog, name string, options map[string]string, comment string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	cat := c.all[catalog]
	switch {
	case cat == nil:
		return &Missing{Kind: "catalog", Name: catalog, Near: sorted(c.all)}
	case cat.databases[name] != nil:
		return &Exists{"database", catalog + "." + name}
	}
	cat.databases[name] = &database{comment: comment, options: options, relations: map[string]Relation{}}
	return nil
}

// DropDatabase removes a database, with cascade even if it is not empty.
func (c *Catalogs) DropDatabase(catalog, name string, cascade bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	db := c.db(Path{Catalog: catalog, Database: name})
	switch {
	case db == nil:
		return &Missing{Kind: "database", Name: catalog + "." + name, Near: c.databasesOf(catalog)}
	case len(db.relations) > 0 && !cascade:
		return fmt.Errorf("the database %s.%s has %d tables and views: drop them first, or say CASCADE", catalog, name, len(db.relations))
	case catalog == c.catalog && name == c.database:
		return fmt.Errorf("the database %s.%s is the current one: USE another first", catalog, name)
	}
	delete(c.all[catalog].databases, name)
	return nil
}

// Use makes a catalog (if not "") and a database (if not "") current.
func (c *Catalogs) Use(catalog, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, db := c.catalog, name
	if catalog != "" {
		if c.all[catalog] == nil {
			return &Missing{Kind: "catalog", Name: catalog, Near: sorted(c.all)}
		}
		at = catalog
		if name == "" {
			db = sorted(c.all[catalog].databases)[0]
		}
	}
	if c.db(Path{Catalog: at, Database: db}) == nil {
		return &Missing{Kind: "database", Name: at + "." + db, Near: c.databasesOf(at)}
	}
	c.catalog, c.database = at, db
	return nil
}

// Catalogs lists the catalogs, Databases those of one, in order.
func (c *Catalogs) Catalogs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return sorted(c.all)
}

// Databases lists the databases of a catalog in order.
func (c *Catalogs) Databases(catalog string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.databasesOf(catalog)
}

func (c *Catalogs) databasesOf(catalog string) []string {
	if cat := c.all[catalog]; cat != nil {
		return sorted(cat.databases)
	}
	return nil
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Missing is the error for something that is not there.
type Missing struct {
	Kind, Name string
	// Near are the names that there are.
	Near []string
}

// Error implements error.
func (e *Missing) Error() string { return fmt.Sprintf("there is no %s %s", e.Kind, e.Name) }

// Exists is the error for something that is there already.
type Exists struct{ Kind, Name string }

// Error implements error.
func (e *Exists) Error() string { return fmt.Sprintf("there is a %s %s already", e.Kind, e.Name) }
