package storage

// ClaimForTest lets tests claim a name as a Job does.
var ClaimForTest = claimIn
