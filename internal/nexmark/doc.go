// Package nexmark makes the events of the Nexmark benchmark, an auction site's people, auctions and bids, as columns. Event i is a pure
// function of the parameters and i, defined to the byte by bench/nexmark/SPEC.md: any range can be made on its own, in any order.
//
//	nexmark.go   parameters, tables, draws
//	fill.go      events into a batch, and their canonical encoding
//	prices.go    the table of prices
//
// Texts are views of tables that are computed once a seed, so an event costs about as much as its random numbers.
package nexmark
