// Talks to the server. Whatever goes wrong becomes an error with a sentence.

async function read(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("the server does not answer");
  }
  let answer;
  try {
    answer = await response.json();
  } catch {
    throw new Error(`the server answered ${response.status}`);
  }
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

export function get(path) {
  return read(path, { headers: { Accept: "application/json" } });
}

export function post(path, body) {
  return read(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify(body),
  });
}
