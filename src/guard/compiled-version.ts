// Reads one version of a policy from the store, and makes it ready for decisions.

import { type CompiledPolicy, compilePolicy } from '../core/policy/compiled-policy.ts';
import type { Queries } from '../store/engine/db.ts';
import { policyVersionRules, readRulesColumn } from '../store/policies.ts';

/** Null if the store has no such version, or if it cannot be read. */
export async function compiledVersion(
  db: Queries,
  id: string,
  version: number,
): Promise<CompiledPolicy | null> {
  const stored = await policyVersionRules(db, id, version);
  if (stored === null) return null;
  try {
    return compilePolicy({ id, version, name: stored.name, ...readRulesColumn(stored.rules) });
  } catch {
    return null;
  }
}
