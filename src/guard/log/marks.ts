// The marks that say how far the audit log has been counted, and from when on it is kept. Their values are times,
// but for WRITTEN.

/** The mark before which all entries are in the roll-ups. Later ones are counted from the log itself. */
export const ROLLED_UP = 'rolled up';
/** The mark before which entries may have been deleted. Minutes before it are never counted again. */
export const KEPT_FROM = 'audit kept from';
/**
 * Equals ROLLED_UP. Only replicas of the previous version read it: they would count again by context what lies after
 * it.
 */
export const CONTEXTS_TO = 'contexts counted to';
/**
 * How often counts were written. Buckets are summed up before the transaction that writes them, which compares this mark:
 * if another replica wrote meanwhile, the sums are thrown away.
 */
export const WRITTEN = 'rollups written';
