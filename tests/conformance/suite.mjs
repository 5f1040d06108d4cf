// Runs the official suite against a server on stdio, for each revision it knows, and judges what it
// found more strictly than its exit status does.
//
//     node suite.mjs SERVER
//
// A scenario passes if it ran to its end, no check is a failure, a warning or was skipped, and at
// least one check besides that of the schema is a success: so none passes without having tested
// anything. Prints a line per scenario, then `N passed, N failed`; exits 1 if one failed.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const server = process.argv[2];
const here = import.meta.dirname;
const suite = join(here, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const REVISIONS = ["2026-07-28", "2025-11-25"];
const SCENARIO_MS_MAX = 30_000;
const REVISION_MS_MAX = 120_000;

/** Scenarios in which nothing of a server on stdio is tested, each with its reason. */
const NOT_JUDGED = {
  "http-custom-header-server-validation": "Mcp-Param headers are HTTP's, and the bridge has none",
  "server-sse-polling": "resumed streams are HTTP's, and the bridge has none",
  "tasks-status-notifications": "the suite skips it, since it does not listen for them yet",
};

/** Checks that may be other than a success, each with its reason. */
const EXCUSED = {};

/** Every message is also checked against the schema: that alone tests nothing of a scenario. */
const SCHEMA_CHECK = "wire-schema-valid";

/** The server scenarios of a revision, the ones that are not scored among them. */
function scenarios(revision) {
  const text = execFileSync(process.execPath, [suite, "list", "--requirements", revision], {
    encoding: "utf8",
  });
  const scored = /^Server scenarios.*\n((?: {2}- .*\n)*)/m.exec(text)?.[1] ?? "";
  const names = [...scored.matchAll(/- (\S+)/g), ...text.matchAll(/- (\S+) \[server\]/g)];
  return names.map(([, name]) => name);
}

/** Serves the server over HTTP while `work` runs with its URL. Whether the server ended well. */
async function bridged(work) {
  const bridge = spawn(process.execPath, [join(here, "bridge.mjs"), server], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => bridge.on("exit", resolve));
  try {
    for await (const url of createInterface({ input: bridge.stdout })) {
      await work(url);
      break;
    }
  } finally {
    bridge.kill();
  }
  return (await ended) === 0;
}

/** Runs the scenarios of a revision. The suite's own verdict is its exit status, which is not asked. */
function runSuite(url, revision, results) {
  const options = ["--requirements", revision, "--timeout", SCENARIO_MS_MAX];
  const child = spawn(
    process.execPath,
    [suite, "server", "--url", url, "--output-dir", results, ...options],
    { stdio: ["ignore", "ignore", "inherit"], timeout: REVISION_MS_MAX },
  );
  return new Promise((resolve) => child.on("exit", resolve));
}

/** What is wrong with a scenario, from the checks that it left. */
function problems(name, checks) {
  if (checks === undefined) return ["it did not run to its end"];
  const found = checks
    .filter(({ status }) => status !== "SUCCESS" && status !== "INFO")
    .filter(({ id }) => EXCUSED[`${name} ${id}`] === undefined)
    .map(({ id, status, errorMessage, details }) => {
      const why = errorMessage ?? JSON.stringify(details) ?? "";
      return `${status} ${id}: ${why.slice(0, 500)}`;
    });
  const tested = checks.some(({ id, status }) => status === "SUCCESS" && id !== SCHEMA_CHECK);
  return tested || found.length > 0 ? found : ["it tested nothing"];
}

/** The checks of a scenario, from the folder of its results: `server-NAME-TIME`. */
function checks(results, name) {
  const time = /^-\d{4}-\d\d-\d\dT/;
  const prefix = `server-${name}`;
  const folder = readdirSync(results).find(
    (folder) => folder.startsWith(prefix) && time.test(folder.slice(prefix.length)),
  );
  return folder && JSON.parse(readFileSync(join(results, folder, "checks.json"), "utf8"));
}

let passed = 0;
let failed = 0;

function tell(what, problems) {
  if (problems.length === 0) passed += 1;
  else failed += 1;
  if (problems.length === 0) console.log(`ok ${what}`);
  for (const problem of problems) console.log(`FAIL ${what}: ${problem}`);
}

async function judge(revision) {
  const results = mkdtempSync(join(tmpdir(), "conformance-"));
  try {
    const endedWell = await bridged((url) => runSuite(url, revision, results));
    const names = scenarios(revision);
    tell(`${revision} scenarios`, names.length > 0 ? [] : ["the suite has none"]);
    for (const name of names) {
      const reason = NOT_JUDGED[name];
      if (reason !== undefined) console.log(`-- ${revision} ${name}: not judged, ${reason}`);
      else tell(`${revision} ${name}`, problems(name, checks(results, name)));
    }
    tell(`${revision} end of the server`, endedWell ? [] : ["a server ended badly"]);
  } finally {
    rmSync(results, { recursive: true });
  }
}

for (const revision of REVISIONS) await judge(revision);
for (const [check, reason] of Object.entries(EXCUSED)) console.log(`-- ${check}: excused, ${reason}`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
