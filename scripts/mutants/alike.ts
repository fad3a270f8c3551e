// Changes that make no difference that anybody could tell from outside, each with the reason. They are told apart from
// survivors, which a better test would find. An entry that no longer fits the source is refused: it would hide
// whatever comes to stand there.

import { ALIKE_IN_CORE } from './alike-core.ts';
import type { Change } from './changes.ts';

export interface Alike {
  file: string;
  /** The whole line, without its indentation. */
  line: string;
  /** Of the change; null for every change to the line. */
  was: string | null;
  why: string;
}

export const ALIKE: readonly Alike[] = [
  ...ALIKE_IN_CORE,
  {
    file: 'src/core/json.ts',
    line: 'for (let at = 0; at < text.length; at++) {',
    was: '<',
    why: 'Behind the end of a text there is no character that counts.',
  },
  {
    file: 'src/core/diff.ts',
    line: 'while (start < before.length && start < after.length && before[start] === after[start]) start++;',
    was: '<',
    why: 'Behind the end of one list stands nothing that the other could have.',
  },
  {
    file: 'src/store/sessions.ts',
    line: "await tx.run('UPDATE sessions SET expires_at = $2 WHERE key_id = $1 AND expires_at > $2', [",
    was: '>',
    why: 'A session that ends with its key is set to the time that it has.',
  },
  {
    file: 'src/store/audit-search.ts',
    line: 'return conditions.length === 0 ? powerOfTwo(limit + 1) : FIRST_ENTRIES;',
    was: '+',
    why: 'How many entries are looked at in one go changes the number of questions, not the answer.',
  },
  {
    file: 'src/mcp/hub.ts',
    line: 'if (known === undefined || performance.now() - known.readAt >= BELIEVED_MS) return this.#read(keyId);',
    was: '-',
    why: 'What is never believed is read anew each time, which costs time alone.',
  },
  {
    file: 'src/mcp/lines.ts',
    line: 'if (this.#length === 0 && end.length <= this.#maxBytes) return text(end);',
    was: '<=',
    why: 'A line of just the bound is kept and read back, which costs a copy.',
  },
  {
    file: 'src/mcp/lines.ts',
    line: 'if (length > this.#kept.length) {',
    was: '>',
    why: 'What is kept grows one piece earlier.',
  },
  {
    file: 'src/mcp/turns.ts',
    line: 'if (this.#taken < SLICE_BYTES) return null;',
    was: '<',
    why: 'A slice may end one line later.',
  },
  {
    file: 'src/mcp/time-limit.ts',
    line: 'if (this.exceeded === null) this.#silent = this.#waitForSign();',
    was: 'if (this.exceeded === null)',
    why: 'A timer that is set after the time was up ends what has been ended.',
  },
  {
    file: 'src/mcp/upstream.ts',
    line: "signal.removeEventListener('abort', cancelled);",
    was: null,
    why: 'Refusing a promise that is settled does nothing.',
  },
  {
    file: 'src/mcp/upstream.ts',
    line: 'clearTimeout(timer);',
    was: null,
    why: 'The timer refuses or aborts what has come to its end.',
  },
  {
    file: 'src/mcp/upstream.ts',
    line: 'this.#stopOpening = null;',
    was: null,
    why: 'Nobody listens any more to the end of an opening that is over.',
  },
  {
    file: 'src/mcp/hub.ts',
    line: 'if (known === undefined || performance.now() - known.readAt >= BELIEVED_MS) return this.#read(keyId);',
    was: 'if (known === undefined || performance.now() - known.readAt >= BELIEVED_MS)',
    why: 'What is never believed is read anew each time, which costs time alone.',
  },
  {
    file: 'src/mcp/hub.ts',
    line: 'if (known === undefined || performance.now() - known.readAt >= BELIEVED_MS) return this.#read(keyId);',
    was: '>=',
    why: 'No reading is exactly so old.',
  },
  {
    file: 'src/mcp/hub.ts',
    line: 'clearInterval(this.#idle);',
    was: null,
    why: 'What is closed has no keys left to close.',
  },
  {
    file: 'src/mcp/offered.ts',
    line: 'if (this.#tools === null) await this.#recall();',
    was: 'if (this.#tools === null)',
    why: 'The store is asked again, and its answer is not taken.',
  },
  {
    file: 'src/mcp/offered.ts',
    line: 'clearTimeout(timer);',
    was: null,
    why: 'The timer aborts a reading that is over.',
  },
  {
    file: 'src/mcp/offered.ts',
    line: 'const lately = last !== null && performance.now() - last.at < AGAIN_MS;',
    was: '<',
    why: 'No reading is exactly so old.',
  },
  {
    file: 'src/mcp/answers.ts',
    line: 'if (status === 200 && headers === undefined) return Response.json(message);',
    was: 'if (status === 200 && headers === undefined)',
    why: 'A response without options is the one with the options left as they are.',
  },
  {
    file: 'src/mcp/connections.ts',
    line: 'if (known !== undefined && known.until > performance.now() && known.principal === principal) {',
    was: '>',
    why: 'No moment is exactly the last.',
  },
  {
    file: 'src/guard/sealer.ts',
    line: 'if (this.#timer !== null) clearInterval(this.#timer);',
    was: 'if (this.#timer !== null)',
    why: 'To clear no timer does nothing.',
  },
  {
    file: 'src/guard/worker.ts',
    line: 'if (this.#timer !== null) clearInterval(this.#timer);',
    was: 'if (this.#timer !== null)',
    why: 'To clear no timer does nothing.',
  },
  {
    file: 'src/guard/sealer.ts',
    line: 'this.#timer = null;',
    was: 'this.#timer = null;',
    why: 'A timer that was cleared is looked at once more by a second stop alone, which clears it again.',
  },
  {
    file: 'src/guard/sealer.ts',
    line: 'while (this.#more && !this.#stopping);',
    was: '!',
    why: 'What one run leaves, the next look a second later goes on with.',
  },
  {
    file: 'src/guard/sealer.ts',
    line: 'this.#more = true;',
    was: 'this.#more = true;',
    why: 'What one run leaves, the next look a second later goes on with.',
  },
  {
    file: 'src/guard/sealer.ts',
    line: 'for (let batch = 0; batch < RUN; batch++) {',
    was: '<',
    why: 'How many batches there are between two looks at the clock is nobody’s business.',
  },
  {
    file: 'src/guard/sealer.ts',
    line: 'if (send === null || this.#sending !== null || performance.now() < this.#sendAfter) return;',
    was: '<',
    why: 'Nobody can tell the very moment at which a wait ends from the one after it.',
  },
  {
    file: 'src/guard/sealed-log.ts',
    line: 'if (last !== null && last.size > state.size && (await readSealing(db)).revision !== state.revision)',
    was: '>',
    why: 'Who was overtaken at the same size would not get the checkpoint written either.',
  },
  {
    file: 'src/guard/provider.ts',
    line: 'if (this.#learnt !== null && now < this.#learnAgainAt) return this.#learnt;',
    was: '<',
    why: 'Nobody can tell the very moment at which a wait ends from the one after it.',
  },
  {
    file: 'src/guard/policies.ts',
    line: 'if (compiled === null) continue;',
    was: 'if (compiled === null)',
    why: 'What is kept as nothing is answered as nothing, and read again the next time.',
  },
  {
    file: 'src/guard/rate-limit.ts',
    line: 'if (this.#shared === null) return;',
    was: 'if (this.#shared === null)',
    why: 'A store that is not there does not say anything, and then the count of this process decides alone.',
  },
  {
    file: 'src/guard/check.ts',
    line: 'const held = asking.length > 0 ? await this.#held(tx, asking, definitions) : NOTHING_HELD;',
    was: '>',
    why: 'Of no calls none is held, and no question is asked to find that out.',
  },
  {
    file: 'src/guard/facts.ts',
    line: 'if (connectedToolId === undefined) continue;',
    was: 'if (connectedToolId === undefined)',
    why: 'A look-up of no Connected Tool finds none, which costs time alone.',
  },
  {
    file: 'src/mcp/listening.ts',
    line: 'tries = performance.now() - since > LASTED_MS ? 0 : tries;',
    was: '>',
    why: 'No stream lasts exactly so long.',
  },
  {
    file: 'src/guard/names.ts',
    line: 'readAt = changed;',
    was: 'readAt = changed;',
    why: 'The name servers are read again for each name, and are the same.',
  },
];

/** Why a change makes no difference; null when it should. `text` is the source of its file. */
export function alike({ file, from, was }: Change, text: string): string | null {
  const line = lineAt(text, from);
  const found = ALIKE.find(each => each.file === file && each.line === line && (each.was ?? was) === was);
  return found?.why ?? null;
}

function lineAt(text: string, at: number): string {
  return text.slice(text.lastIndexOf('\n', at - 1) + 1, text.indexOf('\n', at)).trim();
}

/** The entries whose line does not stand in its file. */
export function strangers(read: (file: string) => string): Alike[] {
  return ALIKE.filter(
    ({ file, line }) =>
      !read(file)
        .split('\n')
        .some(each => each.trim() === line),
  );
}
