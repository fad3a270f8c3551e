// Audit contexts: what many audit entries have in common (key, tool, reason, policy version, shadow) is written once and
// referred to by number. The database assigns the numbers, and they are remembered once they are committed.

import { CommittedMemory } from '../engine/committed-memory.ts';
import { placeholders, type Transaction } from '../engine/db.ts';
import type { AuditEntry } from './audit-entry.ts';
import { sharedTags } from './slots.ts';

export interface Context {
  number: number;
  /** The tags of its key, its tool, its person, its shadow and its marks. */
  tags: readonly number[];
}

const INTERN = `INSERT INTO audit_contexts (digest, key_id, server_name, tool_name, reason, policy_id, policy_version, rule_index, person_id,
    shadow_policy_id, shadow_policy_version, shadow_decision, shadow_rule_index, marks)
  VALUES (${placeholders(14)}) ON CONFLICT (digest) DO UPDATE SET digest = excluded.digest RETURNING id`;

export class ContextMemory {
  readonly #memory = new CommittedMemory<string, Context>();

  /** The contexts of these entries, in the same order; new ones get numbers. */
  async of(tx: Transaction, entries: readonly AuditEntry[]): Promise<Context[]> {
    this.#memory.begin();
    const texts = entries.map(textOf);
    const unknown = new Map<string, AuditEntry>();
    const found = texts.map((text, index) => {
      const context = this.#memory.get(text);
      if (context === undefined) unknown.set(text, entries[index] as AuditEntry);
      return context as Context;
    });
    if (unknown.size === 0) return found;
    await this.#intern(tx, unknown);
    return texts.map(text => this.#memory.get(text) as Context);
  }

  /** Must be called when the transaction of the last call has committed. */
  keep(): void {
    this.#memory.committed();
  }

  /** Contexts are inserted in the order of their digests, so that two replicas cannot deadlock. */
  async #intern(tx: Transaction, unknown: ReadonlyMap<string, AuditEntry>): Promise<void> {
    const wanted = Array.from(unknown, ([text, entry]) => ({ text, entry, digest: digestOf(text) }));
    wanted.sort((a, b) => (a.digest < b.digest ? -1 : 1));
    const found = await Promise.all(
      wanted.map(({ entry, digest }) =>
        tx.all<{ id: number }>(INTERN, [
          digest,
          entry.keyId,
          entry.serverName,
          entry.toolName,
          entry.reason,
          entry.policyId,
          entry.policyVersion,
          entry.ruleIndex,
          entry.personId,
          entry.shadow?.policyId ?? null,
          entry.shadow?.policyVersion ?? null,
          entry.shadow?.decision ?? null,
          entry.shadow?.ruleIndex ?? null,
          entry.marks,
        ]),
      ),
    );
    wanted.forEach(({ text, entry }, index) => {
      const number = found[index]?.[0]?.id as number;
      const context = { number, tags: sharedTags(entry) };
      this.#memory.set(text, context);
    });
  }
}

/**
 * Different contexts have different texts, of which marks are no part because the reason has them: names contain no line breaks, and the reason, which may, comes last. Contexts
 * without a person or a shadow have the texts that they had before there were any, so that they are not written anew.
 */
function textOf({
  keyId,
  serverName,
  toolName,
  reason,
  policyId,
  policyVersion,
  ruleIndex,
  personId,
  shadow,
}: AuditEntry): string {
  const person = personId === null ? '' : `person ${personId}\n`;
  const judged =
    shadow === null
      ? ''
      : `shadow ${shadow.policyId} ${shadow.policyVersion} ${shadow.decision} ${shadow.ruleIndex}\n`;
  return `${judged}${person}${keyId}\n${serverName}\n${toolName}\n${policyId}\n${policyVersion}\n${ruleIndex}\n${reason}`;
}

function digestOf(text: string): string {
  return new Bun.CryptoHasher('sha256').update(text).digest('base64url');
}
