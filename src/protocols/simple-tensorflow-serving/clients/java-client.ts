import type { ClientParts } from "./client-parts.ts";

/** Characters of one literal: a class file has room for 65535 bytes of each. */
const CHUNK = 20_000;

/** A program for Java 11 and later, without packages. A long request is several literals. */
export function javaClient({ endpoint, json }: ClientParts): string {
  return `// Sends an example of a request and prints the answer: java Client.java
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

public class Client {
    static final String ENDPOINT = "${endpoint}";
    static final String REQUEST = String.join("",
        ${literals(json).join(",\n        ")});

    public static void main(String[] args) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(ENDPOINT))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(REQUEST))
            .build();
        HttpResponse<String> response =
            HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200) throw new IllegalStateException(response.statusCode() + ": " + response.body());
        System.out.print(response.body());
    }
}
`;
}

function literals(json: string): string[] {
  const chunks = json.match(new RegExp(`.{1,${CHUNK}}`, "g")) ?? [];
  return chunks.map((chunk) => `"${chunk.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`);
}
