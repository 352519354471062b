package parser_test

import (
	"reflect"
	"strings"

	"github.com/weir-stream/weir/internal/sql/ast"
)

// types returns the types of values.
func types(values ...any) []reflect.Type {
	list := make([]reflect.Type, len(values))
	for i, v := range values {
		list[i] = reflect.TypeOf(v)
	}
	return list
}

// implementations are the types that may be drawn for an interface. Expressions that only certain places take (stars,
// named arguments, units) are drawn there.
var implementations = map[reflect.Type][]reflect.Type{
	reflect.TypeFor[ast.Statement](): types(
		&ast.QueryStatement{}, &ast.Insert{}, &ast.StatementSet{}, &ast.BeginStatementSet{}, &ast.EndStatementSet{},
		&ast.Execute{}, &ast.Explain{}, &ast.Set{}, &ast.Reset{}, &ast.Use{}, &ast.Show{}, &ast.Describe{},
		&ast.LoadModule{}, &ast.UnloadModule{}, &ast.Jar{}, &ast.StopJob{}, &ast.Truncate{}, &ast.Update{}, &ast.Delete{},
		&ast.Analyze{}, &ast.Call{}, &ast.CompilePlan{}, &ast.ExecutePlan{}, &ast.ClientCommand{}, &ast.CreateTable{},
		&ast.CreateView{}, &ast.CreateCatalog{}, &ast.CreateDatabase{}, &ast.CreateFunction{}, &ast.Drop{},
		&ast.AlterTable{}, &ast.AlterView{}, &ast.AlterDatabase{}, &ast.AlterCatalog{}, &ast.AlterFunction{}),
	reflect.TypeFor[ast.Query](): types(
		&ast.QueryExpr{}, &ast.Select{}, &ast.SetOp{}, &ast.Values{}, &ast.ExplicitTable{}),
	reflect.TypeFor[ast.TableExpr](): types(
		&ast.TableName{}, &ast.DerivedTable{}, &ast.TableFunction{}, &ast.Unnest{}, &ast.Join{}, &ast.MatchRecognize{}),
	reflect.TypeFor[ast.Expr](): types(
		&ast.ColumnRef{}, &ast.NullLit{}, &ast.BoolLit{}, &ast.UnknownLit{}, &ast.NumberLit{}, &ast.StringLit{},
		&ast.BinaryLit{}, &ast.DateTimeLit{}, &ast.IntervalLit{}, &ast.IntervalExpr{}, &ast.IntervalSub{}, &ast.Unary{},
		&ast.Binary{}, &ast.Is{}, &ast.Between{}, &ast.Like{}, &ast.In{}, &ast.Quantified{}, &ast.Exists{},
		&ast.Subquery{}, &ast.Case{}, &ast.Cast{}, &ast.Trim{}, &ast.FuncCall{}, &ast.Descriptor{}, &ast.Index{},
		&ast.Field{}, &ast.RowCtor{}, &ast.ArrayCtor{}, &ast.MapCtor{}, &ast.MultisetCtor{}, &ast.Param{},
		&ast.FormatJSON{}, &ast.JSONExists{}, &ast.JSONValue{}, &ast.JSONQuery{}, &ast.JSONObject{}, &ast.JSONArray{},
		&ast.JSONObjectAgg{}, &ast.JSONArrayAgg{}),
	reflect.TypeFor[ast.AlterAction](): types(
		&ast.AlterColumns{}, &ast.AlterDropColumns{}, &ast.AlterDropPrimaryKey{}, &ast.AlterDropConstraint{},
		&ast.AlterDropWatermark{}, &ast.AlterDropDistribution{}, &ast.AlterRenameColumn{}, &ast.AlterRename{},
		&ast.AlterSet{}, &ast.AlterReset{}, &ast.AlterAddPartition{}, &ast.AlterDropPartition{}),
	reflect.TypeFor[ast.Pattern](): types(
		&ast.PatternVar{}, &ast.PatternConcat{}, &ast.PatternAlt{}, &ast.PatternPermute{}, &ast.PatternExclude{},
		&ast.PatternRepeat{}),
}

// leaves are the types that are drawn where a tree has grown high enough.
var leaves = map[reflect.Type][]reflect.Type{
	reflect.TypeFor[ast.Query]():       types(&ast.ExplicitTable{}),
	reflect.TypeFor[ast.TableExpr]():   types(&ast.TableName{}),
	reflect.TypeFor[ast.Expr]():        types(&ast.ColumnRef{}, &ast.NumberLit{}, &ast.StringLit{}, &ast.NullLit{}),
	reflect.TypeFor[ast.Pattern]():     types(&ast.PatternVar{}),
	reflect.TypeFor[ast.Statement]():   types(&ast.QueryStatement{}),
	reflect.TypeFor[ast.AlterAction](): types(&ast.AlterDropWatermark{}),
}

// enums are the numbers of values of enumerations.
var enums = map[reflect.Type]int{
	reflect.TypeFor[ast.ConflictAction](): 4, reflect.TypeFor[ast.ExplainDetail](): 5,
	reflect.TypeFor[ast.ObjectKind](): 7, reflect.TypeFor[ast.ShowKind](): 18, reflect.TypeFor[ast.ConstraintKind](): 2,
	reflect.TypeFor[ast.Enforcement](): 3, reflect.TypeFor[ast.DistributionKind](): 3, reflect.TypeFor[ast.LikeMode](): 3,
	reflect.TypeFor[ast.LikeFeature](): 8, reflect.TypeFor[ast.GroupingKind](): 3, reflect.TypeFor[ast.FrameUnit](): 2,
	reflect.TypeFor[ast.BoundKind](): 5, reflect.TypeFor[ast.NullOrder](): 3, reflect.TypeFor[ast.SetOpKind](): 3,
	reflect.TypeFor[ast.JoinKind](): 6, reflect.TypeFor[ast.RowsPerMatch](): 3, reflect.TypeFor[ast.SkipKind](): 4,
	reflect.TypeFor[ast.DateTimeKind](): 4, reflect.TypeFor[ast.TimeUnit](): 20, reflect.TypeFor[ast.UnaryOp](): 5,
	reflect.TypeFor[ast.BinaryOp](): 32, reflect.TypeFor[ast.IsTest](): 10, reflect.TypeFor[ast.LikeKind](): 4,
	reflect.TypeFor[ast.TrimSide](): 3, reflect.TypeFor[ast.NullTreatment](): 3, reflect.TypeFor[ast.JSONBehavior](): 9,
	reflect.TypeFor[ast.JSONWrapper](): 4, reflect.TypeFor[ast.JSONNulls](): 3, reflect.TypeFor[ast.TypeKind](): 29,
}

// required are the fields of pointers, interfaces and slices that a node always has.
var required = func() map[string]bool {
	m := map[string]bool{}
	for _, f := range strings.Fields(`
		ObjectName.Parts QueryStatement.Query Insert.Table Insert.Query PartitionItem.Key PartitionItem.Value
		StatementSet.Inserts Execute.Statement Explain.Statement Describe.Name LoadModule.Name UnloadModule.Name
		Truncate.Table Update.Table Update.Set Assignment.Column Assignment.Value Delete.Table Analyze.Table Call.Call
		CompilePlan.Statement CreateTable.Name ColumnDef.Name ColumnDef.Type Watermark.Column Watermark.Expr
		TableLike.Source CreateView.Name CreateView.Query CreateCatalog.Name CreateDatabase.Name CreateFunction.Name
		CreateFunction.Class Drop.Name AlterTable.Name AlterTable.Action AlterDropColumns.Columns AlterDropConstraint.Name
		AlterRenameColumn.From AlterRenameColumn.To AlterRename.To AlterAddPartition.Partitions PartitionDef.Items
		AlterDropPartition.Partitions AlterView.Name AlterView.Action AlterDatabase.Name AlterCatalog.Name
		AlterCatalog.Action AlterFunction.Name AlterFunction.Class AlterAs.Query
		QueryExpr.Body CTE.Name CTE.Query Select.Items SelectItem.Expr GroupBy.Items GroupingSets.Items NamedWindow.Name
		NamedWindow.Window Frame.Start OrderItem.Expr SetOp.Left SetOp.Right Values.Rows ExplicitTable.Name
		TableAlias.Name TableName.Name DerivedTable.Query TableFunction.Call Unnest.Exprs Join.Left Join.Right
		Sample.Percent Hint.Name MatchRecognize.Input MatchRecognize.Pattern MatchRecognize.Define Measure.Expr
		Measure.Alias Definition.Name Definition.Expr Subset.Name Subset.Members PatternConcat.Items PatternAlt.Items
		PatternPermute.Items PatternExclude.Pattern PatternRepeat.Pattern
		ColumnRef.Parts IntervalLit.Range IntervalExpr.Value IntervalExpr.Range IntervalSub.X IntervalSub.Y
		IntervalSub.Range Unary.X Binary.X Binary.Y Is.X Between.X Between.Low Between.High Like.X Like.Pattern In.X In.List
		Quantified.X Quantified.List Exists.Query Subquery.Query Case.Whens When.Conds When.Result Cast.X Cast.Type Trim.X
		FuncCall.Name NamedArg.Name NamedArg.Value TableArg.Name ModelArg.Name Index.X Index.Index Field.X Field.Name
		RowCtor.Items MultisetCtor.Items FormatJSON.X JSONExists.X JSONExists.Path JSONValue.X JSONValue.Path JSONQuery.X
		JSONQuery.Path JSONPair.Key JSONPair.Value JSONObjectAgg.Key JSONObjectAgg.Value JSONArrayAgg.X FieldDef.Name FieldDef.Type
	`) {
		m[f] = true
	}
	return m
}()

// name draws a name.
func (g *grower) name() string {
	return one(g, "a", "b", "t1", "Key", "select", "x y", "größe", "date", "`", "_u", "$", "map", "final", "value", "count")
}

// mend makes of a node drawn field by field one that a parser can make.
func (g *grower) mend(n any, depth int) {
	switch n := n.(type) {
	case *ast.Ident:
		n.Name = g.name()
	case *ast.Option:
		n.Key += "k"
	case *ast.PatternVar:
		n.Name = g.name()
	case ast.Statement:
		g.mendStatement(n, depth)
	case ast.Expr:
		g.mendExpr(n, depth)
	case ast.Query, ast.TableExpr:
		g.mendTable(n, depth)
	case ast.AlterAction:
		g.mendAlter(n, depth)
	case *ast.Type:
		g.mendType(n, depth)
	case ast.Pattern:
		g.mendPattern(n)
	default:
		g.mendPart(n, depth)
	}
}

// mendStatement mends statements other than those of DDL.
func (g *grower) mendStatement(n ast.Statement, depth int) {
	switch n := n.(type) {
	case *ast.Insert:
		if n.Conflict != ast.ConflictNone {
			n.Query = grow[*ast.Values](g, depth)
		}
	case *ast.Execute:
		n.Statement = one[ast.Statement](g, grow[*ast.QueryStatement](g, depth), grow[*ast.Insert](g, depth))
	case *ast.Explain:
		n.Details = nil
		for d := range ast.ExplainDetail(5) {
			if g.yes() {
				n.Details = append(n.Details, d)
			}
		}
		table := grow[*ast.CreateTable](g, depth)
		table.As, table.Like = grow[ast.Query](g, depth), nil
		n.Statement = one[ast.Statement](g, grow[*ast.QueryStatement](g, depth), grow[*ast.Insert](g, depth), table,
			grow[*ast.StatementSet](g, depth), grow[*ast.Execute](g, depth))
	case *ast.CompilePlan:
		n.IfNotExists = n.IfNotExists && !n.Execute
		n.Statement = one[ast.Statement](g, grow[*ast.Insert](g, depth), grow[*ast.StatementSet](g, depth))
	case *ast.Set:
		if n.Key == "" {
			n.Value = ""
		}
	case *ast.Use:
		n.Kind = one(g, ast.ObjectDatabase, ast.ObjectCatalog, ast.ObjectModule)
		n.Name, n.Modules = grow[*ast.ObjectName](g, depth), nil
		switch n.Kind {
		case ast.ObjectCatalog:
			n.Name.Parts = n.Name.Parts[:1]
		case ast.ObjectModule:
			n.Name, n.Modules = nil, grow[[]*ast.Ident](g, depth)
		}
	case *ast.Show:
		g.mendShow(n, depth)
	case *ast.Describe:
		n.Kind = one(g, ast.ObjectTable, ast.ObjectCatalog, ast.ObjectDatabase, ast.ObjectFunction, ast.ObjectJob)
		n.Job = nil
		if n.Kind == ast.ObjectJob {
			n.Name, n.Extended, n.Job = nil, false, grow[*ast.StringLit](g, depth)
		}
	case *ast.StopJob:
		n.Drain = n.Drain && n.Savepoint
	case *ast.Analyze:
		if n.AllColumns {
			n.Columns = nil
		}
	case *ast.Call:
		n.Call = &ast.FuncCall{Name: grow[*ast.ObjectName](g, depth), Args: g.args(depth)}
	case *ast.ClientCommand:
		n.Word = one(g, "QUIT", "EXIT", "CLEAR", "HELP")
	default:
		g.mendDDL(n, depth)
	}
}

// mendShow mends SHOW.
func (g *grower) mendShow(n *ast.Show, depth int) {
	switch k := n.Kind; {
	case k == ast.ShowPartitions || k >= ast.ShowCreateTable:
		n.Name, n.In, n.Like = grow[*ast.ObjectName](g, depth), false, nil
	case k == ast.ShowCatalogs || k == ast.ShowCurrentCatalog || k == ast.ShowCurrentDatabase || k == ast.ShowModules ||
		k == ast.ShowFullModules || k == ast.ShowJars || k == ast.ShowJobs:
		n.Name, n.In = nil, false
		if k != ast.ShowCatalogs {
			n.Like = nil
		}
	case k == ast.ShowColumns:
		n.Name = grow[*ast.ObjectName](g, depth)
	case k == ast.ShowDatabases && n.Name != nil:
		n.Name.Parts = n.Name.Parts[:1]
	}
	n.In = n.In && n.Name != nil
	if n.Kind != ast.ShowPartitions {
		n.Partition = nil
	}
	if n.Like == nil {
		n.Not, n.Insensitive = false, false
	}
}

// mendDDL mends CREATE, DROP and ALTER.
func (g *grower) mendDDL(n ast.Statement, depth int) {
	switch n := n.(type) {
	case *ast.CreateTable:
		g.mendCreateTable(n, depth)
	case *ast.CreateFunction:
		n.System = n.System && n.Temporary
		n.Language = one(g, "", "JAVA", "SCALA", "PYTHON", "SQL")
	case *ast.AlterFunction:
		n.System = n.System && n.Temporary
		n.Language = one(g, "", "JAVA", "SCALA", "PYTHON", "SQL")
	case *ast.Drop:
		n.Kind = one(g, ast.ObjectTable, ast.ObjectView, ast.ObjectCatalog, ast.ObjectDatabase, ast.ObjectFunction)
		n.Temporary = n.Temporary && n.Kind != ast.ObjectCatalog && n.Kind != ast.ObjectDatabase
		n.System = n.System && n.Temporary && n.Kind == ast.ObjectFunction
		n.Cascade = n.Cascade && n.Kind == ast.ObjectDatabase
	case *ast.AlterView:
		n.Action = one[ast.AlterAction](g, grow[*ast.AlterRename](g, depth), grow[*ast.AlterAs](g, depth))
	case *ast.AlterCatalog:
		n.Action = one[ast.AlterAction](g, grow[*ast.AlterSet](g, depth), grow[*ast.AlterReset](g, depth),
			grow[*ast.AlterComment](g, depth))
	}
}

// mendCreateTable mends CREATE TABLE.
func (g *grower) mendCreateTable(n *ast.CreateTable, depth int) {
	n.Replace = n.Replace && !n.OrReplace && !n.Temporary
	for _, c := range n.Columns {
		c.First, c.After = false, nil
	}
	if n.Replace || n.As != nil {
		n.Like = nil
		if n.As == nil {
			n.As = grow[ast.Query](g, depth)
		}
		if g.yes() {
			n.Constraints, n.Watermark = nil, nil
			for i, c := range n.Columns {
				n.Columns[i] = &ast.ColumnDef{Name: &ast.ObjectName{Parts: c.Name.Parts[:1]}}
			}
		}
	}
}

// mendAlter mends what ALTER TABLE does.
func (g *grower) mendAlter(n ast.AlterAction, depth int) {
	switch n := n.(type) {
	case *ast.AlterColumns:
		if n.Distributed != nil {
			n.Columns, n.Constraints, n.Watermark = nil, nil, nil
		} else if len(n.Columns)+len(n.Constraints) == 0 && n.Watermark == nil {
			n.Columns = grow[[]*ast.ColumnDef](g, depth)
		}
	case *ast.AlterDropPartition:
		for _, d := range n.Partitions {
			d.Options = nil
		}
	}
}

// literal draws a literal.
func (g *grower) literal(depth int) ast.Expr {
	return one[ast.Expr](g, grow[*ast.NumberLit](g, depth), grow[*ast.StringLit](g, depth), grow[*ast.BoolLit](g, depth),
		&ast.NullLit{}, grow[*ast.DateTimeLit](g, depth), grow[*ast.IntervalLit](g, depth))
}

// positive draws a number without a minus.
func positive(g *grower) *ast.NumberLit { return &ast.NumberLit{Text: one(g, "1", "0.5", "100")} }

// mendPart mends the smaller parts.
func (g *grower) mendPart(n any, depth int) {
	switch n := n.(type) {
	case *ast.PartitionItem:
		n.Value = g.literal(depth)
	case *ast.ColumnDef:
		if g.yes() {
			n.Type, n.Metadata, n.MetadataKey, n.Virtual, n.Constraint = nil, false, nil, false, nil
			n.Computed = grow[ast.Expr](g, depth)
		} else {
			n.Computed = nil
		}
		if !n.Metadata {
			n.MetadataKey, n.Virtual = nil, false
		} else {
			n.Constraint = nil
		}
		if n.Constraint != nil {
			n.Constraint.Columns = nil
		}
		if n.First {
			n.After = nil
		}
	case *ast.Constraint:
		n.Columns = grow[[]*ast.Ident](g, depth)
	case *ast.Distribution:
		if len(n.Columns) == 0 {
			n.Kind = ast.DistributionUnspecified
		}
		if len(n.Columns) == 0 || n.Buckets != nil {
			n.Buckets = positive(g)
		}
	case *ast.Sample:
		n.Percent = positive(g)
		if n.Repeatable != nil {
			n.Repeatable = positive(g)
		}
	case *ast.Hint:
		if len(n.Options) > 0 {
			n.Args = nil
		}
	case *ast.HintArg:
		n.Value = nil
		if n.Name == nil {
			n.Value = one[ast.Expr](g, grow[*ast.NumberLit](g, depth), grow[*ast.StringLit](g, depth))
		}
	case *ast.SelectItem:
		if g.n(5) == 0 {
			n.Expr = grow[*ast.Star](g, depth)
		}
	case *ast.AfterMatch:
		n.Variable = nil
		if n.Kind == ast.SkipToFirst || n.Kind == ast.SkipToLast {
			n.Variable = grow[*ast.Ident](g, depth)
		}
	case *ast.FrameBound:
		n.Value = nil
		if n.Kind == ast.Preceding || n.Kind == ast.Following {
			n.Value = grow[ast.Expr](g, depth)
		}
	case *ast.IntervalRange:
		g.mendRange(n)
	case *ast.JSONOn:
		n.Behavior = one(g, ast.JSONNull, ast.JSONError)
		n.Default = nil
	case *ast.GroupBy:
		n.Items = g.groupItems(depth)
	}
}

// mendRange mends the range of an interval.
func (g *grower) mendRange(n *ast.IntervalRange) {
	n.From, n.To, n.Fraction = one(g, ast.UnitYear, ast.UnitQuarter, ast.UnitMonth, ast.UnitWeek, ast.UnitDay, ast.UnitHour,
		ast.UnitMinute, ast.UnitSecond), ast.UnitNone, -1
	if g.yes() {
		n.Precision = -1
	}
	switch {
	case n.From == ast.UnitSecond:
		if n.Precision >= 0 && g.yes() {
			n.Fraction = g.n(9)
		}
	case n.From == ast.UnitYear && g.yes():
		n.To = ast.UnitMonth
	case n.From >= ast.UnitDay && g.yes():
		n.To = n.From + 1 + ast.TimeUnit(g.n(int(ast.UnitSecond-n.From)))
		if n.To == ast.UnitSecond && g.yes() {
			n.Fraction = g.n(9)
		}
	}
}

// groupItems draws what GROUP BY may hold.
func (g *grower) groupItems(depth int) []ast.Expr {
	var items []ast.Expr
	for range g.n(3) + 1 {
		switch k := g.n(6); {
		case k == 0:
			items = append(items, &ast.RowCtor{})
		case k == 1 && depth > 0:
			items = append(items, grow[*ast.GroupingSets](g, depth-1))
		default:
			items = append(items, grow[ast.Expr](g, depth))
		}
	}
	return items
}

// mendTable mends queries and what FROM may hold.
func (g *grower) mendTable(n any, depth int) {
	switch n := n.(type) {
	case *ast.QueryExpr:
		if inner, ok := n.Body.(*ast.QueryExpr); ok && len(n.With) == 0 && inner.OrderBy == nil && inner.Limit == nil &&
			inner.Offset == nil {
			inner.Limit = positive(g)
		}
		if n.Limit != nil {
			n.Limit = positive(g)
		}
		if n.Offset != nil || len(n.With)+len(n.OrderBy) == 0 && n.Limit == nil {
			n.Offset = positive(g)
		}
	case *ast.Values:
		for _, r := range n.Rows {
			r.Explicit = false
			if len(r.Items) == 0 {
				r.Items = []ast.Expr{&ast.DefaultArg{}}
			}
		}
	case *ast.Select:
		if n.From == nil {
			n.Where, n.GroupBy, n.Having, n.Windows, n.Qualify = nil, nil, nil, nil, nil
		}
	case *ast.TableFunction:
		n.Bare = n.Bare && !n.Lateral
		n.Call = &ast.FuncCall{Name: grow[*ast.ObjectName](g, depth), Args: g.args(depth)}
	case *ast.Join:
		g.mendJoin(n, depth)
	case *ast.MatchRecognize:
		name := grow[*ast.TableName](g, depth)
		name.Sample = nil
		derived := grow[*ast.DerivedTable](g, depth)
		derived.Sample = nil
		for _, a := range []*ast.TableAlias{name.Alias, derived.Alias} {
			if a != nil {
				a.Columns = nil
			}
		}
		n.Input = one[ast.TableExpr](g, name, derived)
		if n.Within != nil {
			n.Within = grow[*ast.IntervalLit](g, depth)
		}
	}
}

// mendJoin mends a join: commas stand outside of all others.
func (g *grower) mendJoin(n *ast.Join, depth int) {
	n.Left, n.Right = uncomma(n.Left), uncomma(n.Right)
	if n.Kind == ast.JoinComma {
		n.Kind = ast.JoinCross
		if g.yes() {
			n.Kind, n.Natural, n.On, n.Using = ast.JoinComma, false, nil, nil
		}
	}
	if n.On != nil {
		n.Using = nil
	}
}

// uncomma makes joins of commas.
func uncomma(t ast.TableExpr) ast.TableExpr {
	if j, ok := t.(*ast.Join); ok && j.Kind == ast.JoinComma {
		j.Kind = ast.JoinInner
	}
	return t
}

// mendType mends types.
func (g *grower) mendType(n *ast.Type, depth int) {
	if n.Kind == ast.TypeInvalid || depth <= 0 && n.Kind >= ast.TypeInterval {
		n.Kind = ast.TypeBigint
	}
	length, scale := n.Length, n.Scale
	*n = ast.Type{Kind: n.Kind, NotNull: n.NotNull, Length: -1, Scale: -1}
	switch n.Kind {
	case ast.TypeChar, ast.TypeVarchar, ast.TypeBinary, ast.TypeVarbinary, ast.TypeTime, ast.TypeTimestamp,
		ast.TypeTimestampLTZ, ast.TypeDecimal:
		if g.yes() {
			n.Length = length
		}
		if n.Kind == ast.TypeDecimal && n.Length >= 0 && g.yes() {
			n.Scale = scale
		}
	case ast.TypeInterval:
		n.Interval = grow[*ast.IntervalRange](g, depth)
	case ast.TypeMap:
		n.Key, n.Elem = grow[*ast.Type](g, depth), grow[*ast.Type](g, depth)
	case ast.TypeArray, ast.TypeMultiset:
		n.Elem = grow[*ast.Type](g, depth)
	case ast.TypeRow:
		if g.yes() {
			n.Fields = grow[[]*ast.FieldDef](g, depth)
		}
	case ast.TypeStructured:
		n.Class, n.Fields = grow[*ast.StringLit](g, depth), grow[[]*ast.FieldDef](g, depth)
	case ast.TypeRaw:
		n.Class, n.Serializer = grow[*ast.StringLit](g, depth), grow[*ast.StringLit](g, depth)
	case ast.TypeNamed:
		n.Name = grow[*ast.ObjectName](g, depth)
	}
}

// mendPattern mends row patterns: what stands side by side is at least two, and no more of its own kind.
func (g *grower) mendPattern(n ast.Pattern) {
	switch n := n.(type) {
	case *ast.PatternConcat:
		n.Items = g.atLeastTwo(n.Items)
	case *ast.PatternAlt:
		n.Items = g.atLeastTwo(n.Items)
	case *ast.PatternRepeat:
		n.Max = one(g, -1, n.Min, n.Min+1)
		if n.Max == 0 {
			n.Max = 1
		}
	}
}

func (g *grower) atLeastTwo(items []ast.Pattern) []ast.Pattern {
	return append(items, &ast.PatternVar{Name: g.name()}, &ast.PatternVar{Name: g.name()})
}
