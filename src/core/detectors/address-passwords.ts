// Passwords in addresses, such as `postgres://name:password@host/db`: what stands between the name and the `@`. Words that
// stand for a password in documents, and names of variables, are none.

import type { Find } from './find.ts';

/** A name, a colon, a password and an `@` with a host behind it. A password may have an `@` in it if it is not escaped. */
const REST = /(?:\\\/|\/){2}[^\s"'`<>\\/:@?#]{0,128}:([^\s"'`<>\\/]{1,256})@(?=[0-9A-Za-z[_$-])/y;
const STANDS_FOR =
  /^(?:\$.*|%.*%|\{.*|\[.*|\(.*|<.*|[*.x_-]+|(?:my|the|your|some|db|user|test)?[_-]?(?:pass|password|passwd|passphrase|pwd|pw|secret|token|key|credentials|auth)(?:word)?)$/i;

export function findAddressPassword(text: string, at: number): Find[] {
  REST.lastIndex = at + 1;
  const password = REST.exec(text)?.[1];
  if (password === undefined || STANDS_FOR.test(password)) return [];
  const to = REST.lastIndex - 1;
  return [{ from: to - password.length, to }];
}
