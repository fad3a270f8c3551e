// Unsaved texts of policies are kept in the tab for each person and policy, and only so many of them.

import { describe, expect, test } from 'bun:test';
import { KeptDrafts } from '../../dashboard/src/pages/policies/kept-drafts.ts';

/** What a tab keeps, as browsers offer it. */
function newTab(full = false): Storage {
  const items = new Map<string, string>();
  return {
    get length() {
      return items.size;
    },
    key: at => [...items.keys()][at] ?? null,
    getItem: name => items.get(name) ?? null,
    setItem: (name, value) => {
      if (full) throw new DOMException('full', 'QuotaExceededError');
      items.set(name, value);
    },
    removeItem: name => items.delete(name),
    clear: () => items.clear(),
  };
}

describe('a draft', () => {
  test('is read as it was kept, by the same person for the same policy only', () => {
    const tab = newTab();
    const drafts = new KeptDrafts('operator:a', 'p', tab);
    drafts.keep('edited', { version: 3, text: 'rules: []' });
    expect(new KeptDrafts('operator:a', 'p', tab).read('edited')).toEqual({ version: 3, text: 'rules: []' });
    expect(drafts.read('aside')).toBeNull();
    expect(new KeptDrafts('operator:b', 'p', tab).read('edited')).toBeNull();
    expect(new KeptDrafts('operator:a', 'q', tab).read('edited')).toBeNull();
    drafts.keep('edited', null);
    expect(drafts.read('edited')).toBeNull();
    expect(tab.length).toBe(0);
  });

  test('of a new policy has its name and description', () => {
    const drafts = new KeptDrafts('a', 'new', newTab());
    const draft = { version: 0, text: '', name: 'n', description: 'd' };
    drafts.keep('edited', draft);
    expect(drafts.read('edited')).toEqual(draft);
  });

  test('goes when eight others were kept after it, and stays when it was kept again', () => {
    const tab = newTab();
    const of = (policy: number) => new KeptDrafts('a', String(policy), tab);
    for (let policy = 0; policy < 8; policy++) of(policy).keep('edited', { version: 1, text: `${policy}` });
    of(0).keep('edited', { version: 1, text: 'again' });
    of(8).keep('aside', { version: 1, text: 'last' });
    expect(tab.length).toBe(8);
    expect(of(0).read('edited')?.text).toBe('again');
    expect(of(1).read('edited')).toBeNull();
    expect(of(2).read('edited')?.text).toBe('2');
  });

  test('that is too long is not kept, nor is the older one in its place', () => {
    const drafts = new KeptDrafts('a', 'p', newTab());
    drafts.keep('edited', { version: 1, text: 'short' });
    drafts.keep('edited', { version: 1, text: 'x'.repeat(500_001) });
    expect(drafts.read('edited')).toBeNull();
  });

  test('is nothing where the tab keeps nothing, or something else', () => {
    const full = new KeptDrafts('a', 'p', newTab(true));
    full.keep('edited', { version: 1, text: 'x' });
    expect(full.read('edited')).toBeNull();
    for (const strange of ['', 'null', '[]', '{"version":"1","text":"x"}', '{"version":1}']) {
      const tab = newTab();
      const drafts = new KeptDrafts('a', 'p', tab);
      drafts.keep('edited', { version: 1, text: 'x' });
      tab.setItem(tab.key(0) ?? '', strange);
      expect(drafts.read('edited')).toBeNull();
    }
  });
});
