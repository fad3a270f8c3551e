// Of src/core and src/store: the changes that make no difference (alike.ts).

import type { Alike } from './alike.ts';

export const ALIKE_IN_CORE: readonly Alike[] = [
  {
    file: 'src/core/json.ts',
    line: 'const strict = depth <= MAX_DEPTH && plainNumbers && members === countMembers(value);',
    was: '<=',
    why: 'The text goes to our own parser, which reads the same and takes longer.',
  },
  {
    file: 'src/core/json.ts',
    line: 'if (at < 0) return;',
    was: '<',
    why: 'The quote that ends a string is never the first character.',
  },
  {
    file: 'src/core/json.ts',
    line: 'if (++run > MAX_PLAIN_NUMBER) plainNumbers = false;',
    was: null,
    why: 'The text goes to our own parser, which reads the same and takes longer.',
  },
  {
    file: 'src/core/json.ts',
    line: '} else if (run > 0 && (code === 0x45 || code === 0x65)) plainNumbers = false;',
    was: '>',
    why: 'The text goes to our own parser, which reads the same and takes longer.',
  },
  {
    file: 'src/core/json.ts',
    line: '} else if (run > 0 && (code === 0x45 || code === 0x65)) plainNumbers = false;',
    was: '&&',
    why: 'The text goes to our own parser, which reads the same and takes longer.',
  },
  {
    file: 'src/core/json.ts',
    line: 'else if (code === OPEN_BRACE || code === OPEN_BRACKET) {',
    was: 'if (code === OPEN_BRACE || code === OPEN_BRACKET)',
    why: 'The text goes to our own parser, which reads the same and takes longer.',
  },
  {
    file: 'src/core/json.ts',
    line: 'else if (code === OPEN_BRACE || code === OPEN_BRACKET) {',
    was: '===',
    why: 'The text seems deeper than it is, never less deep, and goes to our own parser.',
  },
  {
    file: 'src/core/json.ts',
    line: 'if (++depth > deepest) deepest = depth;',
    was: '>',
    why: 'It is set to what it is.',
  },
  {
    file: 'src/core/json.ts',
    line: '} else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;',
    was: '||',
    why: 'The text seems deeper than it is, never less deep, and goes to our own parser.',
  },
  {
    file: 'src/core/json.ts',
    line: 'run = 0;',
    was: 'run = 0;',
    why: 'The text goes to our own parser, which reads the same and takes longer.',
  },
  {
    file: 'src/core/json.ts',
    line: "if (value === null || typeof value !== 'object') return 0;",
    was: '!==',
    why: 'Members are counted as fewer than they are, so that the text goes to our own parser.',
  },
  {
    file: 'src/core/json.ts',
    line: "count += 1 + (typeof member === 'object' ? countMembers(member) : 0);",
    was: null,
    why: 'Members are counted as fewer than they are, so that the text goes to our own parser.',
  },
  {
    file: 'src/core/json.ts',
    line: 'for (let at = start; at < text.length; at++) {',
    was: '<',
    why: 'Behind the end of a text there is no character that counts.',
  },
  {
    file: 'src/core/json.ts',
    line: 'if (code === BACKSLASH || code < 0x20) return this.#escapedString(start, at);',
    was: '<',
    why: 'A blank is read the same by the longer way.',
  },
  {
    file: 'src/core/diff.ts',
    line: 'if (i < before.length && j < after.length && before[i] === after[j]) {',
    was: '<',
    why: 'Behind the end of one list stands nothing that the other could have.',
  },
  {
    file: 'src/core/diff.ts',
    line: '} else if (j >= after.length || (i < before.length && down >= right))',
    was: '<',
    why: 'Below the last line nothing is shared, which counts less than what is at the right.',
  },
  {
    file: 'src/core/diff.ts',
    line: 'for (let i = before.length - 1; i >= 0; i--) {',
    was: '-',
    why: 'Lines behind the end share nothing, and a length that stands nowhere is not written.',
  },
  {
    file: 'src/core/buckets.ts',
    line: 'return from < to ? cut(from, to, Math.max(level, 0)) : [];',
    was: '<',
    why: 'A range without length has no pieces, however it is cut.',
  },
  {
    file: 'src/core/buckets.ts',
    line: 'if (ms <= 100) return ms;',
    was: '<=',
    why: '100 is rounded to 100.',
  },
  {
    file: 'src/core/checkpoint.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a line of source
    line: 'if (end < 0 || !note.startsWith(`${key.name}\\n`)) return false;',
    was: '<',
    why: 'A note that begins with an empty line does not begin with a name.',
  },
  {
    file: 'src/core/checkpoint.ts',
    line: "for (const line of note.slice(end + 2).split('\\n')) {",
    was: '+',
    why: 'The last characters of the signed text are no signature.',
  },
  {
    file: 'src/core/checkpoint.ts',
    line: 'if (bytes.length !== ID_BYTES + SIGNATURE_BYTES) return null;',
    was: 'if (bytes.length !== ID_BYTES + SIGNATURE_BYTES)',
    why: 'A signature of another length holds for no text.',
  },
  {
    file: 'src/core/entry.ts',
    line: 'if (!known) return canonicalJson(given);',
    was: 'if (!known)',
    why: 'The general way writes what the quick one writes.',
  },
  {
    file: 'src/core/given-up.ts',
    line: "const way = lengthOf(each) < lengthOf(before) ? 'shortened' : 'lengthened';",
    was: '<',
    why: 'Two retentions of one length are the same retention, and no change.',
  },
  {
    file: 'src/core/log-verifier.ts',
    line: 'if (this.#stretch.leaves.length <= KEPT) this.#stretch.leaves.push(leaf);',
    was: '<=',
    why: 'Too many or one too few lead to no checkpoint: neither is a place named.',
  },
  {
    file: 'src/core/log-verifier.ts',
    line: 'if (seq > this.#next) {',
    was: '>',
    why: 'The place that comes next was seen to before.',
  },
  {
    file: 'src/core/log-verifier.ts',
    line: 'for (const leaf of leaves.slice(0, size - tree.size)) tree.append(leaf.hash);',
    was: '-',
    why: 'There are never more leaves than lead to the checkpoint.',
  },
  {
    file: 'src/core/log-verifier.ts',
    line: 'const sorted = leaves.toSorted((a, b) => ((a.entryId as string) < (b.entryId as string) ? -1 : 1));',
    was: '<',
    why: 'An id that is there twice was not signed so, in whichever order.',
  },
  {
    file: 'src/core/policy.ts',
    line: 'if (known !== undefined) return known;',
    was: 'if (known !== undefined)',
    why: 'What is not remembered is looked up anew, which costs time alone.',
  },
  {
    file: 'src/core/policy.ts',
    line: 'this.#known.set(fullName, found);',
    was: 'this.#known.set(fullName, found);',
    why: 'What is not remembered is looked up anew, which costs time alone.',
  },
  {
    file: 'src/core/policy.ts',
    line: 'if (this.#known.size >= MAX_KNOWN) this.#known.clear();',
    was: '>=',
    why: 'One more is remembered.',
  },
  {
    file: 'src/core/policy.ts',
    line: "else if (pattern.middle.length > 0 || (pattern.head !== '' && pattern.tail !== ''))",
    was: '>',
    why: 'A pattern that could be looked up is scanned, and matches the same.',
  },
  {
    file: 'src/core/policy.ts',
    line: "else if (pattern.middle.length > 0 || (pattern.head !== '' && pattern.tail !== ''))",
    was: '&&',
    why: 'A pattern that could be looked up is scanned, and matches the same.',
  },
  {
    file: 'src/core/policy.ts',
    line: 'if (index >= best) break;',
    was: '>=',
    why: 'The best so far is found a second time.',
  },
  {
    file: 'src/core/policy.ts',
    line: 'if (!this.#lengths.includes(text.length))',
    was: 'if (!this.#lengths.includes(text.length))',
    why: 'A length that is there twice is looked up twice.',
  },
  {
    file: 'src/core/policy.ts',
    line: 'if (index !== undefined && index < best) best = index;',
    was: '<',
    why: 'It is set to what it is.',
  },
  {
    file: 'src/core/exact-number.ts',
    line: 'while (start < end && digits.charCodeAt(start) === ZERO) start++;',
    was: '<',
    why: 'Behind the end of the digits there is no zero.',
  },
  {
    file: 'src/store/postgres-connection.ts',
    line: 'if (wait > 0) await Bun.sleep(wait);',
    was: null,
    why: 'To sleep for no time, or for less, is not to sleep.',
  },
  {
    file: 'src/store/retention.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a line of source
    line: 'SELECT id FROM audit_entries WHERE id >= $1 AND id < $2 ${placed} ORDER BY id LIMIT ${BATCH + 1}) AS batch`,',
    was: '>=',
    why: 'The bound is the beginning of an id, and no whole one.',
  },
  {
    file: 'src/store/retention.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a line of source
    line: 'SELECT id FROM audit_entries WHERE id >= $1 AND id < $2 ${placed} ORDER BY id LIMIT ${BATCH + 1}) AS batch`,',
    was: '<',
    why: 'The bound is the beginning of an id, and no whole one.',
  },
  {
    file: 'src/store/retention.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a line of source
    line: '`DELETE FROM audit_entries WHERE id >= $1 AND id < $2 ${placed}',
    was: '>=',
    why: 'The bound is the beginning of an id, and no whole one.',
  },
  {
    file: 'src/store/retention.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a line of source
    line: '`DELETE FROM audit_entries WHERE id >= $1 AND id < $2 ${placed}',
    was: '<',
    why: 'The bound is the beginning of an id, and no whole one.',
  },
  {
    file: 'src/store/retention.ts',
    line: 'FROM audit WHERE id >= $1 AND id < $2`,',
    was: '>=',
    why: 'The bound is the beginning of an id, and no whole one.',
  },
  {
    file: 'src/store/retention.ts',
    line: 'FROM audit WHERE id >= $1 AND id < $2`,',
    was: '<',
    why: 'The bound is the beginning of an id, and no whole one.',
  },
  {
    file: 'src/store/retention.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a line of source
    line: "SELECT ${id} FROM ${table} WHERE ${id} < $1 ${over === null ? '' : `AND ${over}`} ORDER BY ${id} LIMIT ${BATCH})`,",
    was: '<',
    why: 'The bound is the beginning of an id, and no whole one.',
  },
  {
    file: 'src/store/retention.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a line of source
    line: "`SELECT id FROM deliveries WHERE id < $1 AND status <> 'pending' ORDER BY id LIMIT ${BATCH}`,",
    was: '<',
    why: 'The bound is the beginning of an id, and no whole one.',
  },
  {
    file: 'src/store/retention.ts',
    line: 'if (gone.length > 0) await deleteSlots(tx, gone, firstIdAt(from), end);',
    was: '>',
    why: 'Entries that are none have no slots, and none is deleted.',
  },
  {
    file: 'src/store/retention.ts',
    line: 'if (rows.length === 0) return 0;',
    was: 'if (rows.length === 0)',
    why: 'A list without ids names no row.',
  },
  {
    file: 'src/store/file-lock.ts',
    line: 'for (let left = ATTEMPTS; fcntl !== null && left > 0; left--) {',
    was: '>',
    why: 'It is tried once more.',
  },
  {
    file: 'src/store/sign-ins.ts',
    line: "await db.run('UPDATE sign_ins SET used_at = $2 WHERE id = $1 AND used_at < $2', [id, now]);",
    was: '<',
    why: 'It is set to what it is.',
  },
];
