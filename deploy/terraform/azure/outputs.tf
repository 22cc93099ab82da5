output "database" {
  description = "The name at which processes find the primary, also after a failover."
  value       = azurerm_postgresql_flexible_server.this.fqdn
}

output "migrate" {
  description = "The command that migrates the store."
  value       = "az containerapp job start --name migrate --resource-group ${azurerm_resource_group.this.name}"
}
