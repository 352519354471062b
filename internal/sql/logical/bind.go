package logical

import "github.com/weir-stream/weir/internal/sql/catalog"

// Binder binds the statements of a session.
type Binder struct {
	Catalogs *catalog.Catalogs
}
