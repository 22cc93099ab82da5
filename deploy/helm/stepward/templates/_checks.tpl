{{- /* What the schema of the values cannot say in one line. */ -}}
{{- define "stepward.check" -}}
{{- if not .Values.app }}{{ fail "app: expected the App as module:attribute, found none; give --set app=MODULE:ATTRIBUTE" }}{{ end -}}
{{- range $name := list "repository" "tag" -}}
{{- if not (index $.Values.image $name) }}{{ fail (printf "image.%s: expected that of your application's image, found none; give --set image.%s=…" $name $name) }}{{ end -}}
{{- end -}}
{{- if has "latest" (list .Values.image.tag .Values.image.agentTag) }}{{ fail "image.tag: expected a tag that stays, found latest, which is moved; name the version" }}{{ end -}}
{{- with .Values.console -}}
{{- if and .enabled (not .url) }}{{ fail "console.url: expected the https address at which browsers reach the console, found none; give it" }}{{ end -}}
{{- if and .enabled (eq (empty .proxy) (empty .tlsSecret)) -}}
{{- fail "console: expected tlsSecret or proxy, and not both, so that TLS ends there; give one of them" -}}
{{- end -}}
{{- if ne (empty .openid.issuer) (empty .openid.clientId) }}{{ fail "console.openid: expected issuer and clientId together, found one of them; give both" }}{{ end -}}
{{- end -}}
{{- range $name, $agent := .Values.agents -}}
{{- $scale := (mergeOverwrite (deepCopy $.Values.agentDefaults) (default dict $agent)).autoscaling -}}
{{- if gt (int $scale.minReplicas) (int $scale.maxReplicas) }}{{ fail (printf "agents.%s.autoscaling: expected minReplicas up to maxReplicas, found %d above %d; correct one" $name (int $scale.minReplicas) (int $scale.maxReplicas)) }}{{ end -}}
{{- if and $scale.enabled (not $.Values.prometheus.serverAddress) -}}
{{- fail (printf "prometheus.serverAddress: expected the address of a Prometheus for the autoscaling of %s, found none; give it" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
