// The second names that NTFS gives to files for old programs: `GIT~1` is `.git`, and `CREDEN~1.JSO` is
// `credentials.json`. After four of a kind it takes two letters and a hash: `CR3F2A~1.JSO`.

const SHORT_NAME = /^([^.~]{1,6})~\d{1,3}(?:\.([^.]{0,3}))?$/;
/** Such a name gets no second one. */
const SHORT_ALREADY = /^[^.*\s]{1,8}(?:\.[^.*\s]{1,3})?$/;
const HASH = /^..[0-9a-f]{4}$/;

export function isShortName(name: string): boolean {
  return SHORT_NAME.test(name);
}

/** Whether a name, in lower case, can be the short one of a listed name. In doubt it is. */
export function isShortFor(name: string, listed: string): boolean {
  const [, base, extension = ''] = SHORT_NAME.exec(name) ?? [];
  if (base === undefined || SHORT_ALREADY.test(listed)) return false;
  const bare = listed.replace(/^\.+/, '');
  const dot = bare.lastIndexOf('.');
  const [stem = '', wildcard] = (dot > 0 ? bare.slice(0, dot) : bare).replaceAll('.', '').split('*');
  if (stem === '') return dot >= 0 && extension !== '' && extension === bare.slice(dot + 1).slice(0, 3);
  const begins = wildcard === undefined ? stem.slice(0, 6) === base : base.startsWith(stem.slice(0, 6));
  return begins || (HASH.test(base) && base.slice(0, 2) === stem.slice(0, 2));
}
