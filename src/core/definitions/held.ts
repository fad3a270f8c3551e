// Whether calls of a tool are held until somebody accepts its definition, and why. A definition that shadows another tool is
// held only for keys that have both, which whoever asks has to look up.

import type { HeldFor } from '../decision/reason.ts';
import type { ToolsLock } from './lock-file.ts';
import type { Look } from './look.ts';

/** What is known of the definition that a tool has now. */
export interface Present {
  /** The name of the tool server, or of the Connected Tool that carries its own definition. */
  server: string;
  tool: string;
  digest: string;
  /** The digest of the definition that a person has accepted. */
  acceptedDigest: string | null;
  trust: 'first' | 'reviewed';
  /** Null if nobody has looked at this definition yet. */
  look: Look | null;
}

/** `unless alone`: it depends on the other tools of the key. */
export function heldFor(present: Present, lock: ToolsLock | null): HeldFor | 'unless alone' | null {
  if (lock !== null) return lock.has(present) ? null : 'lock_file';
  if (present.acceptedDigest === present.digest) return null;
  if (present.look === null) return 'nobody';
  if (present.look.hidden) return 'hidden';
  return present.trust === 'reviewed' ? 'nobody' : 'unless alone';
}
