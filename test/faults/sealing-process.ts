// A sealer in a process of its own, which a test can kill at any time: it seals all entries and then ends. Its clock is
// an hour ahead, so that every entry is old enough to be sealed.

const [root = '', url = ''] = process.argv.slice(2);
const { openSqlite } = await import(`${root}/src/store/engine/sqlite.ts`);
const { openPostgres } = await import(`${root}/src/store/engine/postgres.ts`);
const { SealedLog, logKey } = await import(`${root}/src/guard/log/sealed-log.ts`);
const { readSealing } = await import(`${root}/src/store/log/seals.ts`);
const { Vault } = await import(`${root}/src/guard/secrets.ts`);

const fatal = (error: Error) => {
  throw error;
};
const db = url.startsWith('sqlite:')
  ? openSqlite(url.slice('sqlite:'.length), fatal)
  : await openPostgres(url, 2);
const deps = { db, vault: new Vault(new Uint8Array(32).fill(7)), now: () => Date.now() + 3_600_000 };
const log = new SealedLog(deps, await logKey(deps), null);

// The lease is not looked at: it is a courtesy, and whoever was killed would keep everybody waiting.
for (let idle = 0; idle < 3; ) {
  const more = await log.sealNew(await readSealing(db));
  idle = more ? 0 : idle + 1;
  await log.checkpoint(await readSealing(db));
}
await db.close();

export {};
